"""A line with everything that lines do: what comes to one address goes on to another, later, half, twice, or not at all.

    relay.py 10.77.0.2:7443 10.77.0.1:7443 ORDERS

ORDERS is a file, read again and again:

    {"delay": 0.2,              seconds, each way
     "stops": ["there"],        ways on which nothing comes through: "there", "back"; it comes later, unless the connection is gone
     "breaks": 4,               connections, so far, of which a piece comes half, and then nothing any more, either way
     "repeats": 4}              connections, so far, on which a piece comes twice

How many breaks and repeats came true stands in ORDERS.done, which is there once it listens, and by the number of which orders
("number", 0 before any).
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

LOOKS_EVERY = 0.02
WELL = {"number": 0, "delay": 0, "stops": [], "breaks": 0, "repeats": 0}
PIECES_MAX = 64  # on their way; whoever sends more waits


class Line:
    def __init__(self, file):
        self.file = Path(file)
        self.orders = WELL
        self.done = {"number": 0, "breaks": 0, "repeats": 0}

    async def watch(self):
        while True:
            with contextlib.suppress(OSError):
                self.orders = WELL | json.loads(self.file.read_text())
            if self.done["number"] != self.orders["number"]:
                self.done["number"] = self.orders["number"]
                self.tell()
            await asyncio.sleep(LOOKS_EVERY)

    def due(self, trouble):
        if self.done[trouble] >= self.orders[trouble]:
            return False
        self.done[trouble] += 1
        self.tell()
        return True

    def tell(self):
        fresh = self.file.with_suffix(".done.new")
        fresh.write_text(json.dumps(self.done))
        fresh.rename(f"{self.file}.done")

    async def send(self, way, pieces, sink):
        while piece := await pieces.get():
            when, data = piece
            await asyncio.sleep(max(0, when + self.orders["delay"] - asyncio.get_running_loop().time()))
            while way in self.orders["stops"]:
                await asyncio.sleep(LOOKS_EVERY)
            if self.due("breaks"):
                sink.write(data[:len(data) // 2])
                return
            sink.write(2 * data if self.due("repeats") else data)
            await sink.drain()

    async def take(self, source, pieces):
        while data := await source.read(65536):
            await pieces.put((asyncio.get_running_loop().time(), data))
        await pieces.put(None)

    async def carry(self, way, source, sink):
        """Until one end closes, or it breaks."""
        pieces = asyncio.Queue(PIECES_MAX)
        takes = asyncio.create_task(self.take(source, pieces))
        try:
            await self.send(way, pieces, sink)
        finally:
            takes.cancel()

    async def connect(self, to, reader, writer):
        with contextlib.suppress(OSError):
            there_reader, there_writer = await asyncio.open_connection(*to)
            both = [asyncio.create_task(self.carry("there", reader, there_writer)), asyncio.create_task(self.carry("back", there_reader, writer))]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            there_writer.close()
        writer.close()


async def main(listens_at, to, file):
    line = Line(file)
    here, there = (address.rsplit(":", 1) for address in (listens_at, to))
    server = await asyncio.start_server(lambda *ends: line.connect(there, *ends), *here)
    async with server:
        line.tell()
        await line.watch()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
