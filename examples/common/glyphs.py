"""Digits as this machine's fonts draw them, and images of them: shifted, turned, scaled, noisy."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch.nn import functional as F

from common.errors import UserError

IMAGE_SIDE = 28
GLYPH_SIDE = 2 * IMAGE_SIDE  # warped at twice the size, then averaged: smooth edges
GLYPH_HEIGHT = 40
FONT_SIZE = 96
MAX_FONTS = 64
MIN_LIKENESS = 0.5
CHUNK = 2000

FONT_FOLDERS = ("/usr/share/fonts/truetype/dejavu", "/usr/share/fonts", "/usr/local/share/fonts")


def find_fonts():
    """Returns the paths of up to 64 TrueType and OpenType fonts, DejaVu's first."""
    found = {}
    for folder in (*FONT_FOLDERS, Path.home() / ".local/share/fonts"):
        for path in sorted(Path(folder).rglob("*.[to]tf")):
            found[path.resolve()] = None
    if not found:
        raise UserError("no font to draw digits with; install the Debian package fonts-dejavu-core "
                        "or give --data a folder with MNIST-style IDX files")
    return list(found)[:MAX_FONTS]


def draw_glyphs(fonts):
    """Returns uint8 [fonts, 10, 56, 56]: white digits on black, equally high, centred.

    Fonts whose digits are missing or look like something else (symbols, boxes) are left out.
    """
    drawn = [glyphs for glyphs in map(_draw_font, fonts) if glyphs is not None]
    if not drawn:
        raise UserError("no font here can draw digits; install the Debian package "
                        "fonts-dejavu-core")
    return np.stack([glyphs for glyphs in drawn if _likeness(glyphs, drawn[0]) >= MIN_LIKENESS])


def make_images(glyphs, count, seed):
    """Returns uint8 images [count, 28, 28] and labels [count]; equal arguments, equal images."""
    images = np.empty((count, IMAGE_SIDE, IMAGE_SIDE), np.uint8)
    labels = np.empty(count, np.uint8)
    for chunk, start in enumerate(range(0, count, CHUNK)):
        random = np.random.default_rng([seed, chunk])
        size = min(CHUNK, count - start)
        labels[start:start + size] = random.integers(0, 10, size)
        fonts = random.integers(0, len(glyphs), size)
        templates = glyphs[fonts, labels[start:start + size]]
        images[start:start + size] = _degrade(_warp(templates, random), random)
    return images, labels


def _draw_font(path):
    try:
        font = ImageFont.truetype(str(path), FONT_SIZE)
        return np.stack([_draw_digit(font, digit) for digit in "0123456789"])
    except (OSError, ValueError):
        return None


def _draw_digit(font, digit):
    canvas = Image.new("L", (4 * FONT_SIZE, 4 * FONT_SIZE))
    ImageDraw.Draw(canvas).text((FONT_SIZE, FONT_SIZE), digit, 255, font)
    box = canvas.getbbox()
    if box is None:
        raise ValueError("blank digit")
    ink = canvas.crop(box)
    scale = min(GLYPH_HEIGHT / ink.height, GLYPH_HEIGHT / ink.width)
    ink = ink.resize((max(1, round(ink.width * scale)), max(1, round(ink.height * scale))),
                     Image.BICUBIC)
    glyph = Image.new("L", (GLYPH_SIDE, GLYPH_SIDE))
    glyph.paste(ink, ((GLYPH_SIDE - ink.width) // 2, (GLYPH_SIDE - ink.height) // 2))
    return np.asarray(glyph)


def _likeness(glyphs, reference):
    """Mean cosine between two fonts' digits, 0..1."""
    a = glyphs.reshape(10, -1).astype(np.float64)
    b = reference.reshape(10, -1).astype(np.float64)
    return np.mean((a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1)))


def _warp(templates, random):
    """Turns, scales, stretches, shears and shifts each; returns float32 [n, 28, 28], 0..1."""
    n = len(templates)
    angle = np.radians(random.uniform(-30, 30, n))
    scale_x = 1 / (random.uniform(0.5, 1.0, n) * random.uniform(0.85, 1.15, n))
    scale_y = 1 / random.uniform(0.5, 1.0, n)
    shear = random.uniform(-0.3, 0.3, n)
    shift = random.uniform(-0.2, 0.2, (n, 2))
    cos, sin = np.cos(angle), np.sin(angle)
    # Output to input coordinates (-1..1): unshift, unturn, unshear, unscale.
    matrix = np.empty((n, 2, 3), np.float32)
    matrix[:, 0, 0] = scale_x * (cos + shear * sin)
    matrix[:, 0, 1] = scale_x * (-sin + shear * cos)
    matrix[:, 1, 0] = scale_y * sin
    matrix[:, 1, 1] = scale_y * cos
    matrix[:, :, 2] = -np.einsum("nij,nj->ni", matrix[:, :, :2], shift)
    size = (n, 1, GLYPH_SIDE, GLYPH_SIDE)
    grid = F.affine_grid(torch.from_numpy(matrix), size, align_corners=False)
    source = torch.from_numpy(templates).float().div_(255).unsqueeze(1)
    warped = F.grid_sample(source, grid, align_corners=False)
    return F.avg_pool2d(warped, 2).squeeze(1).numpy()


def _degrade(images, random):
    """Fades the ink, lightens the ground and adds noise; returns uint8."""
    n = len(images)
    ink = random.uniform(0.5, 1.0, (n, 1, 1)).astype(np.float32)
    ground = random.uniform(0.0, 0.25, (n, 1, 1)).astype(np.float32)
    sigma = random.uniform(0.0, 0.20, (n, 1, 1)).astype(np.float32)
    noisy = ground + (ink - ground) * images
    noisy += sigma * random.standard_normal(images.shape, np.float32)
    return (np.clip(noisy, 0, 1) * 255 + 0.5).astype(np.uint8)
