"""One server of root's, three people: every route of the API and every field of every answer as the owner of a job, as another
user and as root.

A route, a field or a kind of event that the tables below don't name fails the test: whoever adds one says who may see it. A
field of an owner's is null, or left out, for others. To root all is shown that its owner sees."""

import json
import os
import re
import socket
import sys
import time
import unittest
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import OTHER, OWNER, ROOT, SECRET, SharedBox, UnixConnection, add_people, as_user


class Answer:
    """The fields of an answer, everybody's and those of a job's owner alone: `a.b[].{c,d}` are the fields c and d of the objects
    in the list b of the object a, `a.*` is all that a has. `?` at the end: no answer has it in this test."""

    def __init__(self, everybodys, owners=""):
        self.rare, self.told = set(), set()  # those with a ?; those that some answer had
        self.everybodys, self.owners = self._read(everybodys), self._read(owners)

    def _read(self, words):
        fields = {field for word in words.split() for field in expanded(word)}
        self.rare |= {field.rstrip("?") for field in fields if field.endswith("?")}
        return {field.rstrip("?") for field in fields}

    def at(self, prefix):
        """The same as a part of another answer."""
        part = Answer("")
        for name in ("rare", "everybodys", "owners"):
            setattr(part, name, {prefix + field for field in getattr(self, name)})
        return part

    def __add__(self, other):
        both = Answer("")
        for name in ("rare", "everybodys", "owners"):
            setattr(both, name, getattr(self, name) | getattr(other, name))
        return both

    @property
    def all(self):
        return self.everybodys | self.owners

    def is_known(self, field):
        return field in self.all or any(known.startswith((field + ".", field + "[")) for known in self.all)

    def is_owners(self, field):
        return field in self.owners or any(known.startswith((field + ".", field + "[")) for known in self.owners)

    def fields(self, value, prefix=""):
        """Every field of an answer without others below it, and whether it says anything."""
        if isinstance(value, dict):
            free = prefix + ".*" in self.all
            for key, inner in value.items():
                yield from self.fields(inner, prefix + (".*" if free else f".{key}" if prefix else key))
        elif isinstance(value, list):
            for inner in value:
                yield from self.fields(inner, prefix + "[]")
        else:
            yield prefix, value is not None


def expanded(word):
    """a.{b,c}.d as a.b.d and a.c.d."""
    found = re.search(r"\{([^{}]*)\}", word)
    if not found:
        return [word]
    return [field for part in found[1].split(",") for field in expanded(word[:found.start()] + part + word[found.end():])]


BILL = "{preemption,resize,failure}"
JOB = Answer(
    "id name user uid state workers min max want pinned slots_per_worker mesh.{tensor,pipeline} devices[]? affinity[] "
    "anti_affinity[] exclusive cpus memory_bytes log_limit_bytes preemptible priority elastic on_disconnect checkpoint_store retry retries_used hold after[] generation attempt "
    "resizes preemptions reason reason_code progress.{step,total_steps,epoch,total_epochs,samples,ratio,step_seconds,learning_rate,"
    "reported_at} target.{metric,direction,deliver,final,delivered_at,reached,reached_at} "
    "gang[].{rank,node,slots[],pid,state,exit_code} pids[] nodes[] submitted_at started_at ended_at max_duration_seconds "
    "min_run_seconds stop_loss resize_loss expect_seconds expect_samples expect_speeds deadline_at remaining.{seconds,low_seconds,high_seconds,from} "
    "asked.{by,since,stops_at} waited_seconds ran_seconds paused_seconds slot_seconds lost_slot_seconds." + BILL +
    " exit_code cause ending",
    owners="command directory shipped.{ship,files,bytes}? metrics.* checkpoint.{path,step,samples,acknowledged_at,node,kept} checkpoint.unkept? resume_audit.{agrees,text} "
           "model.{node,path,sha256,bytes,step,samples,published_at} warnings[].{code,text}?")
WHY = Answer("id state reason lines[] waits.{passed_over,passed_by[],patience_until,kept.{slots,free,last_job,free_at}} "
             "changes[].{change,slots,starts_at}? position starts_after? {expected_start,expected_end}.{at,earliest,latest,known}")
ACTIVE = Answer("name parameters.* since")
NEXT_ROUND = Answer("policy starts loses_work loses_slot_seconds other_jobs jobs[].{id,user,name,what,workers,workers_then,by,"
                    "never_saved,loses_seconds,loses_slot_seconds,stops_at}")
SWITCH = ACTIVE.at("active.") + ACTIVE.at("previous.") + NEXT_ROUND.at("next_round.")
POLICY = Answer("name summary text parameters.* loaded_at failure failed_at script")
CHANGE = "{kind,workers,nodes[],reason_code,reason}"
TRIAL = Answer(
    "name parameters.* since counted_since live rounds differed skipped failed failure differences[].{round,at} "
    f"differences[].changes[].{{job,live.{CHANGE},shadow.{CHANGE}}} forecast.{{samples,jobs,guessed,unfinished}} "
    "forecast.{live,shadow}.{completion_seconds,waiting_seconds,makespan_seconds} "
    f"forecast.{{live,shadow}}.lost_slot_seconds.{BILL} forecast.users[].user? forecast.users[].{{live,shadow}}.{BILL}? "
    f"forecast.other_users.count forecast.other_users.{{live,shadow}}.{BILL}")
TOKEN = Answer("id user role made_by made_at expires_at expired")
INVITATION = Answer("id made_by made_at expires_at expired uses_left rack switch labels.*")
SLURM = Answer("connected leaving proven partition? account? nodes_max time_seconds gres? cpus idle_seconds lease_seconds look_every_seconds pilot_log "
               "slots_per_node could_grow_to_nodes problem? pilots[].{job,state,reason,host,node,asked_at,time_left_seconds}?")
NOTHING = Answer("")
REFUSAL = Answer("error.{code,message,hint}")

# Of each route: what is sent, who gets what status (owner, other, root; {id}: a running job of the owner's), the fields.
ROUTES = {
    ("GET", "/healthz"): ("", (200, 200, 200), Answer("healthy")),
    ("GET", "/readyz"): ("", (200, 200, 200), Answer("ready")),
    ("GET", "/v1/server"): ("", (200, 200, 200), Answer(
        "version build pid dir started_at seq policy slots slots_leased damage mails uid jobs.*")),
    ("GET", "/v1/whoami"): ("", (200, 200, 200), Answer("user uid roles[] known_by")),
    ("POST", "/v1/tokens"): ('{"user": "paceline-owner", "role": "user", "expires_seconds": 60}', (403, 403, 201),
                             TOKEN + Answer("token address")),
    ("GET", "/v1/tokens"): ("", (403, 403, 200), TOKEN.at("tokens[].")),
    ("DELETE", "/v1/tokens/{token}"): ("", (403, 403, 200), TOKEN),
    ("POST", "/v1/invitations"): ('{"rack": "r1", "labels": {"disk": "nvme"}}', (403, 403, 201), INVITATION + Answer("token address")),
    ("GET", "/v1/invitations"): ("", (403, 403, 200), INVITATION.at("invitations[].")),
    ("DELETE", "/v1/invitations/{invitation}"): ("", (403, 403, 200), INVITATION),
    ("GET", "/v1/slurm"): ("", (200, 200, 200), SLURM),
    ("POST", "/v1/slurm"): ("{}", (403, 403, 409), NOTHING),  # the server is root's
    ("DELETE", "/v1/slurm"): ("", (403, 403, 200), Answer("pilots jobs[] loses_slot_seconds")),
    ("POST", "/v1/join"): ("{}", (403, 403, 403), NOTHING),  # a machine's, and so are the next three
    ("POST", "/v1/identity"): ("{}", (403, 403, 403), NOTHING),
    ("POST", "/v1/checkpoints"): ("{}", (403, 403, 400), NOTHING),
    ("POST", "/v1/checkpoints/pieces"): ("", (403, 403, 400), NOTHING),
    ("POST", "/v1/checkpoints/unkept"): ("{}", (403, 403, 400), NOTHING),
    ("GET", "/v1/link"): ("", (403, 403, 403), NOTHING),
    ("GET", "/v1/bytes"): ("", (403, 403, 403), NOTHING),
    ("DELETE", "/v1/nodes/{node}"): ("", (403, 403, 404), NOTHING),  # none joined
    ("POST", "/v1/nodes/{node}/drain"): ("{}", (403, 403, 200), Answer(
        "slots is_last begins_at ends_at loses_slot_seconds "
        "jobs[].{id,user,name,leaves,workers,workers_then,at,never_saved,loses_slot_seconds}?")),
    ("POST", "/v1/nodes/{node}/undrain"): ("", (403, 403, 200), NOTHING),
    ("GET", "/metrics"): ("", (200, 200, 200), None),  # a text
    ("GET", "/v1/limits"): ("", (200, 200, 200), Answer("limits[].{name,value,default,unit,counts}")),
    ("GET", "/v1/rules"): ("", (200, 200, 200), Answer("reclaim_after_seconds")),
    ("GET", "/v1/nodes"): ("", (200, 200, 200), Answer(
        "nodes[].{id,name,state,address,rack,switch,labels.*,cpus,memory_bytes,joined,removed,joined_at,serial,silent_seconds,version} "
        "nodes[].refusal.{why,until,unhealthy}? nodes[].drain.{reason,by,begun,keeps,begins_at,ends_at,jobs[]}? nodes[].only_user? nodes[].off_by? nodes[].lease_seconds awaited[].{name,joined_at,serial}? "
        "nodes[].slots[].{index,kind,model,uuid,memory_bytes,island,numa,state,note,job,rank}")),
    ("GET", "/v1/users"): ("", (200, 200, 200), Answer(
        f"users[].{{user,jobs,waiting,running,slots,waited_seconds,slot_seconds,lost_slot_seconds.{BILL}}}")),
    ("GET", "/v1/jobs"): ("", (200, 200, 200), JOB.at("jobs[].") + Answer("next")),
    ("GET", "/v1/expected"): ("", (200, 200, 200), Answer(
        "as_of jobs[].{id,starts_after?} jobs[].{expected_start,expected_end}.{at,earliest,latest,known} next?")),
    ("POST", "/v1/plan"): ('{"spec": {}, "launch": {"command": ["true"], "directory": "/"}}', (200, 200, 200), Answer(
        "as_of reason starts_after? {expected_start,expected_end}.{at,earliest,latest,known} other_delayed position? "
        "jobs_ahead[].{id,user,name,priority,reason}? changes[].{change,slots,starts_at}? "
        "effects[].{id,user,name,what,workers,workers_then}? delayed[].{id,user,name,what,later_seconds}?")),
    ("GET", "/v1/stats"): ("", (200, 200, 200), Answer(
        "expected.waiting expected.graded[].{of,known,count,inside,median_error_seconds,median_error_ratio,widened}?")),
    ("GET", "/v1/jobs/{id}"): ("", (200, 200, 200), JOB),
    ("GET", "/v1/jobs/{id}/why"): ("", (200, 200, 200), WHY),
    ("GET", "/v1/jobs/{id}/wait"): ("", (200, 200, 200), JOB),
    ("GET", "/v1/jobs/{id}/logs"): ("", (200, 403, 200), Answer("", owners="chunks[].{rank,offset,next,text,at}")),
    ("GET", "/v1/jobs/{id}/stacks"): ("", (200, 403, 200), Answer("", owners="job generation ranks[].{rank,node} ranks[].{text,problem}?")),
    ("GET", "/v1/jobs/{id}/timeline"): ("", (200, 403, 200), Answer("", owners="chunks[].{rank,offset,next,text,at}?")),
    ("GET", "/v1/jobs/{id}/metrics"): ("", (200, 403, 200), Answer(
        "", owners="points[].{n,at,generation,rank,step,samples,values.*} next passed_over thinned_from?")),
    ("GET", "/v1/jobs/{id}/notify"): ("", (200, 403, 200), Answer(
        "", owners="notify.{to[],on[],stalled_after_seconds}? waiting given_up problem?")),
    ("GET", "/v1/jobs/{id}/attach"): ("", (409, 403, 409), NOTHING),  # it has no terminal
    ("GET", "/v1/events"): ("", (200, 200, 200), None),  # by kind, below
    ("GET", "/v1/policy"): ("", (200, 200, 200), ACTIVE.at("active.") + Answer(
        "policies[].{name,summary,elastic,parameters.*,loaded_at,failure,failed_at} "
        f"periods[].{{name,from,to,slot_seconds_leased,slot_seconds_available,utilization,lost_slot_seconds.{BILL}}} "
        f"plans[].{{round,policy,at,lost_slot_seconds.{BILL}}}")),
    ("GET", "/v1/policy/{name}"): ("", (200, 200, 200), POLICY),
    ("GET", "/v1/shadow"): ("", (404, 404, 404), TRIAL),  # none is tried
    ("POST", "/v1/jobs"): ('{"spec": {"hold": true}, "launch": {"command": ["true"], "directory": "/"}}', (201, 201, 201),
                           Answer("id")),
    ("POST", "/v1/ships"): ('{"files": [], "links": [], "directories": []}', (200, 200, 200), Answer("ship files bytes missing[]?")),
    ("POST", "/v1/ships/pieces"): ("", (200, 200, 200), Answer("taken")),
    ("POST", "/v1/jobs/{id}/pause"): ("", (200, 403, 409), JOB),  # root comes last: it is paused already
    ("POST", "/v1/jobs/{id}/resume"): ("", (200, 403, 409), JOB),
    ("POST", "/v1/jobs/{id}/resize"): ('{"workers": 1}', (200, 403, 200), JOB),
    ("POST", "/v1/jobs/{id}/cancel"): ("", (200, 403, 409), JOB),  # it is over by then
    ("PUT", "/v1/rules"): ('{"reclaim_after_seconds": 600}', (403, 403, 200), Answer("reclaim_after_seconds")),
    ("PUT", "/v1/policy"): ('{"name": "fifo"}', (403, 403, 200), SWITCH),
    ("PUT", "/v1/policy/{name}"): ('{"script": "x"}', (403, 403, 400), POLICY),
    ("DELETE", "/v1/policy/{name}"): ("", (403, 403, 404), NOTHING),
    ("POST", "/v1/policy/rollback"): ("", (403, 403, 200), SWITCH),
    ("PUT", "/v1/shadow"): ('{"name": "fifo"}', (403, 403, 200), TRIAL),
    ("POST", "/v1/shadow/promote"): ("", (403, 403, 200), SWITCH),
    ("DELETE", "/v1/shadow"): ("", (403, 403, 404), TRIAL),  # it was promoted
    ("POST", "/v1/journal/prune"): ('{"before": 1}', (403, 403, 200), Answer("segments entries bytes first")),
    ("POST", "/v1/shutdown"): ('{"jobs": true}', (403, 403, 200), Answer("running[]")),
}

# Of each kind of event, beside seq, at and kind. Fields without a value are left out.
EVENTS = {kind: Answer("seq at kind " + fields, owners) for kind, (fields, owners) in {
    "node_up": ("node spec.{name,address,cpus,memory_bytes,machine,rack,switch,labels.*} spec.ports.{first,end} spec.refusal.{why,until}? spec.{only_user,strangers[],lease_seconds,reach_port,reach_nonce}? spec.keeps "
                "spec.slots[].{kind,model,usable} spec.slots[].{uuid,memory_bytes,note,island,numa}?", ""),
    "node_down": ("node?", ""),
    "job_submitted": (
        "job spec.{name,user,uid,slots_per_worker,priority,elastic,preemptible,max_duration_seconds,expect_seconds,hold} "
        "spec.workers.{min,max,want} spec.target.{metric,direction,deliver,final} spec.notice.{signal,grace_seconds} "
        "spec.{exclusive,mesh.{tensor,pipeline},devices[],cpus,memory_bytes,log_limit_bytes,min_run_seconds,stop_loss,resize_loss,expect_samples,"
        "expect_speeds[][],deadline_at,retry,after[],pty}? spec.affinity[].{anti,to,name,value,reach,give_up_after_seconds}?", "spec.checkpoint"),
    "job_requested": ("job request by.{user,uid,roles[],known_by}", ""),
    "range_set": ("job min max want by.{user,uid,roles[],known_by}?", ""),
    "policy_set": ("name parameters.* by.{user,uid,roles[],known_by}?", ""),
    "rules_set": ("reclaim_after_seconds by.{user,uid,roles[],known_by}?", ""),
    "policy_loaded": ("name bytes by.{user,uid,roles[],known_by}?", ""),
    "policy_failed": ("name why", ""),
    "trial_began": ("name parameters.* by.{user,uid,roles[],known_by}?", ""),
    "trial_ended": ("name by.{user,uid,roles[],known_by}?", ""),
    "worker_started": ("job generation rank pid", ""),
    "worker_ready": ("job generation rank joins", ""),
    "gang_stands": ("job generation", ""),
    "newcomers_late": ("job generation", ""),
    "worker_ended": ("job generation rank unseen_seconds? ending.{cause,exit_code,at} ending.signal", "ending.message"),
    "checkpoint_acknowledged": ("", "seq at kind job generation checkpoint.{path,step,samples?,acknowledged_at} "
                                    "checkpoint.place.{node,report,by.{job,generation,rank}} checkpoint.place.{inside,ship,unkept}?"),
    "checkpoint_kept": ("", "seq at kind job keeping checkpoint.{path,step,samples?,acknowledged_at} "
                            "checkpoint.place.{node,report,by.{job,generation,rank}} checkpoint.place.{inside,ship,unkept}?"),
    "model_published": ("", "seq at kind job generation model.{node,path,sha256,bytes,step,samples,published_at}"),
    "progress": ("", "seq at kind job generation progress.{step,total_steps,samples,position,epoch,total_epochs,step_seconds,"
                     "learning_rate,metrics.*,reported_at} progress.resume_audit.{agrees,text} target_delivered? target_reached?"),
    "job_warned": ("", "seq at kind job generation warning holds"),
    "time_limit_reached": ("job", ""),
    "clock_set": ("by_seconds? boot.{id,at}?", ""),
    "jobs_forgotten": ("jobs[]", ""),
    "nodes_retired": ("nodes[]", ""),
    "node_drained": ("node order.{reason,from,until,within_seconds,keeps}? by.{user,uid,roles[],known_by}", ""),
    "drain_began": ("node", ""),
    "node_off": ("node by", ""),
    "node_undrained": ("node by.{user,uid,roles[],known_by}", ""),
    "journal_accepted": ("lost generation", ""),
    "plan": ("round policy build asked[].{job,by,stops_at} changes[].{kind,job,generation,placement[].{node,slots[]},reason_code,"
             "reason_numbers[],reason_text,trade,beneficiary,workers,reason}", ""),
}.items()}
OWNERS_EVENTS = {"progress", "checkpoint_acknowledged", "checkpoint_kept", "model_published", "job_warned"}
UNLIKE_HERE = {"node_down", "node_off", "drain_began", "clock_set", "jobs_forgotten", "nodes_retired", "journal_accepted",
               "job_warned", "worker_ready", "gang_stands", "newcomers_late", "checkpoint_kept"}  # kinds that nothing in this test brings about

REPORT = {"step": 10, "total_steps": 1000, "epoch": 0.1, "total_epochs": 10, "samples": 640, "step_seconds": 0.1,
          "learning_rate": 0.01, "position": 640, "accuracy": 0.1, f"{SECRET}_loss": 0.5,
          "resume_audit": {"agrees": True, "text": f"step 5 of checkpoint {SECRET}.pt"}}
SAVES = {"checkpoint": f"/tmp/{SECRET}.pt", "step": 10, "samples": 640}
PUBLISHES = {"model": f"/tmp/{SECRET}-model.pt", "bytes": 1024, "sha256": "a" * 64, "step": 10, "samples": 640}
TRAINS = f"""
echo 'a {SECRET} line'
echo '{json.dumps({"paceline": REPORT})}'
echo '{json.dumps({"paceline": SAVES})}'
echo '{json.dumps({"paceline": PUBLISHES})}'
exec sleep 600
"""
LARGE = """-- Every waiting job at its largest.
local most = parameter("most", 4)
function decide(cluster)
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    if job.name == "trips" then error("it trips") end
    local workers = math.max(job.min, math.min(job.max, most))
    free = free - workers * job.slots_per_worker
    if free >= 0 then plan[#plan + 1] = {job = job, workers = workers, reason = "it is waiting"} end
  end
  return plan
end
"""


def setUpModule():
    add_people()


class PeopleTest(SharedBox):
    """An owner's job that runs and told all that a job can tell, and one that could not be started."""
    options = ("--listen", "127.0.0.1:0", "--rack", "r1", "--switch", "s1", "--label", "disk=nvme")

    def setUp(self):
        super().setUp()
        spec = {"name": "saved", "checkpoint": f"{SECRET}*.pt", "target": "accuracy>=0.95", "preemptible": False, "elastic": "restart",
                "expect_seconds": 600, "affinity": ["self~10m"], "anti_affinity": ["job:nobody~10m"]}
        self.saved = self.submit(OWNER, spec, ["sh", "-c", TRAINS])
        self.failed = self.submit(OWNER, {"name": "broken"}, [f"/nonexistent/{SECRET}-program"])
        self.until(lambda: self.job(self.saved)["model"] and self.job(self.saved)["metrics"], "nothing was reported")
        self.until_state(self.failed, "FAILED")

    def job(self, job):
        return self.get(0, f"/v1/jobs/{job}")

    def until_state(self, job, *states):
        self.until(lambda: self.job(job)["state"] in states, f"job {job} is not {' or '.join(states)}")

    def act(self, uid, method, path, body=""):
        """Of a route that changes something, by one that may."""
        status, text = self.ask(uid, method, path, json.dumps(body) if body else "")
        self.assertLess(status, 300, text)
        return text

    def see(self, who, answer, value):
        """Holds what one of them was shown against the table. Returns the fields that say something."""
        fields = list(answer.fields(value))
        self.assertEqual(sorted({field for field, _ in fields if not answer.is_known(field)}), [], "not in the tables")
        said = {field for field, says in fields if says}
        owners = {field for field in said if answer.is_owners(field)}
        if who == "other":
            self.assertEqual(owners, set(), "is the owner's alone")
            self.assertNotIn(SECRET, json.dumps(value))
        answer.told |= owners | {field for field, _ in fields if not answer.is_owners(field)}
        return said

    def see_alike(self, answer, values):
        """`values`: what the owner, the other and root were shown of the same."""
        own, others, roots = (self.see(who, answer, value) for who, value in zip(("owner", "other", "root"), values))
        self.assertEqual(own, roots, "root sees what the owner sees")
        self.assertEqual({field for field in own if not answer.is_owners(field)}, others, "is everybody's")


class RoutesTest(PeopleTest):
    def test_every_route_has_its_row(self):
        routes = set()
        for source in (ROOT / "src/api").glob("routes_*.cpp"):
            routes |= set(re.findall(r'routes\.add\(\s*"([A-Z]+)",\s*"([^"]+)"', source.read_text()))
        self.assertEqual(routes, set(ROUTES))

    def test_every_route_as_owner_other_and_root(self):
        for (method, pattern), (body, statuses, answer) in ROUTES.items():
            wanted = dict(zip(("owner", "other", "root"), statuses))
            # The other asks first: what may not be done must change nothing for those who may.
            for who, uid in (("other", OTHER), ("owner", OWNER), ("root", 0)):
                name = "mine" if "{name}" in pattern and method != "GET" else "fifo"
                node = "gpu-3" if method == "DELETE" else socket.gethostname()
                path = pattern.replace("{id}", str(self.saved)).replace("{name}", name).replace("{token}", "1")
                path = path.replace("{invitation}", "1").replace("{node}", node)
                path += "?timeout_seconds=0" if path.endswith("/wait") else ""
                headers = {"Connection": "Upgrade", "Upgrade": "paceline-pty"} if path.endswith("/attach") else {}
                with self.subTest(f"{method} {pattern}", who=who):
                    self.make_quiet()
                    status, text = self.ask(uid, method, path, body, headers)
                    self.assertEqual(status, wanted[who], text)
                    if answer:
                        self.see(who, answer if status < 400 else REFUSAL, json.loads(text))
                    if who == "other":
                        self.assertNotIn(SECRET, text)

    def make_quiet(self):
        """Until it is known what a command to the job answers: it is not between two states."""
        self.until_state(self.saved, "RUNNING", "PAUSED", "CANCELLED")

    def test_what_is_the_owners_is_refused_with_a_sentence(self):
        status, text = self.ask(OTHER, "GET", f"/v1/jobs/{self.saved}/logs")
        self.assertEqual((status, json.loads(text)["error"]["message"]), (403, f"Job {self.saved} belongs to paceline-owner."))


class FieldsTest(PeopleTest):
    """A life in which every field says something once; read() is called wherever there is something new."""

    def read(self, pattern, path=None, keep=lambda value: value):
        """`keep`: the part of the answer that is of the owner's jobs."""
        answer = ROUTES["GET", pattern][2]
        with self.subTest(f"GET {path or pattern}"):
            self.see_alike(answer, [keep(self.get(uid, path or pattern)) for uid in (OWNER, OTHER, 0)])

    def read_jobs(self, *jobs):
        for job in jobs:
            self.read("/v1/jobs/{id}", f"/v1/jobs/{job}")
            self.read("/v1/jobs/{id}/why", f"/v1/jobs/{job}/why")
            self.read("/v1/jobs/{id}/wait", f"/v1/jobs/{job}/wait?timeout_seconds=0")
        self.read("/v1/jobs", "/v1/jobs?all=1",
                  lambda page: page | {"jobs": [job for job in page["jobs"] if job["uid"] == OWNER]})

    def read_owners(self, pattern, job):
        path = pattern.replace("{id}", str(job))
        for who, uid in (("owner", OWNER), ("root", 0)):
            self.see(who, ROUTES["GET", pattern][2], self.get(uid, path))
        self.assertEqual(self.ask(OTHER, "GET", path)[0], 403)

    def switch(self, name, **parameters):
        text = self.act(0, "PUT", "/v1/policy", {"name": name, "parameters": parameters})
        self.see("root", SWITCH, json.loads(text))

    def test_every_field_of_every_answer(self):
        self.live_with_little_room()
        self.live_with_policies()
        self.live_to_many_an_end()
        self.ask_who_they_are()
        self.read_events()
        self.expect_all_told()

    def live_with_a_drain(self):
        node = f"/v1/nodes/{socket.gethostname()}"
        told = self.act(0, "POST", f"{node}/drain", {"reason": "a new disk", "within_seconds": 600})
        self.see("root", ROUTES["POST", "/v1/nodes/{node}/drain"][2], json.loads(told))
        self.read("/v1/nodes")
        self.act(0, "POST", f"{node}/undrain", {})

    def live_with_little_room(self):
        wide = self.submit(OWNER, {"name": "wide", "workers": 2}, ["true"])
        never = self.submit(OWNER, {"name": "never"}, ["sleep", "600"])  # saves; it passes the wide one over
        self.until_state(never, "RUNNING")
        waits = self.submit(OTHER, {"name": "waits", "expect_seconds": 600}, ["sleep", "600"])
        self.switch("fair", patience="off")
        self.until(lambda: self.job(never)["asked"], "it is not asked")
        self.live_with_a_drain()
        self.read_jobs(self.saved, self.failed, wide, never)
        for pattern in ("/v1/jobs/{id}/logs", "/v1/jobs/{id}/metrics", "/v1/jobs/{id}/notify", "/v1/jobs/{id}/stacks"):
            self.read_owners(pattern, self.saved)

        self.act(0, "PUT", "/v1/rules", {"reclaim_after_seconds": 1})
        self.until_state(waits, "RUNNING")
        self.switch("elastic-fifo", patience="1s")
        self.until(lambda: (self.get(0, f"/v1/jobs/{wide}/why")["waits"] or {}).get("kept"), "nothing is kept for it")
        self.read_jobs(wide)
        for pattern in ("/v1/server", "/v1/limits", "/v1/rules", "/v1/nodes", "/v1/users", "/v1/policy", "/v1/expected", "/v1/stats",
                        "/healthz", "/readyz"):
            self.read(pattern)
        for job in (wide, never, waits):
            self.act(0, "POST", f"/v1/jobs/{job}/cancel")
            self.until_state(job, "CANCELLED")

    def live_with_policies(self):
        page = self.act(0, "PUT", "/v1/policy/large", {"script": LARGE})
        self.see("root", POLICY, json.loads(page))
        self.read("/v1/policy/{name}", "/v1/policy/large")
        self.act(OWNER, "POST", f"/v1/jobs/{self.saved}/cancel")
        self.until_state(self.saved, "CANCELLED")
        self.switch("fifo")
        self.act(0, "PUT", "/v1/shadow", {"name": "large", "parameters": {"most": 2}})
        differs = self.submit_what_differs()
        self.read("/v1/shadow")
        self.act(0, "DELETE", "/v1/shadow")
        self.switch("large")
        self.submit(OWNER, {"name": "trips"}, ["true"])
        self.until(lambda: self.get(0, "/v1/policy/large")["failure"], "it didn't fail")
        self.read("/v1/policy")
        self.switch("fifo")
        self.act(OWNER, "POST", f"/v1/jobs/{differs}/resize", {"workers": 1})

    def ask_who_they_are(self):
        """Each is told another answer."""
        for who, uid, name in (("owner", OWNER, "paceline-owner"), ("other", OTHER, "paceline-other"), ("root", 0, "root")):
            said = self.get(uid, "/v1/whoami")
            self.assertEqual((said["user"], said["uid"]), (name, uid))
            self.see(who, ROUTES["GET", "/v1/whoami"][2], said)
        self.act(0, "POST", "/v1/tokens", {"user": "paceline-owner", "role": "viewer", "expires_seconds": 60})
        self.see("root", ROUTES["GET", "/v1/tokens"][2], self.get(0, "/v1/tokens"))
        self.see("root", SLURM, self.get(0, "/v1/slurm"))
        self.act(0, "POST", "/v1/invitations", {"rack": "r1", "switch": "s1", "labels": {"disk": "nvme"}})
        self.see("root", ROUTES["GET", "/v1/invitations"][2], self.get(0, "/v1/invitations"))

    def submit_what_differs(self):
        """A trial has what the cores have left, and passes over a start that it comes to too late: then there is another. On a
        machine that others keep busy all the time it has nothing to tell. A whole test run waits longer, and forgives nothing
        where cores were idle."""
        strict = bool(os.environ.get("PACELINE_TEST_ALL"))
        deadline = time.monotonic() + (300 if strict else 60)
        while True:
            job = self.submit(OWNER, {"name": "differs", "workers": "1..2"}, ["sleep", "600"])
            self.until_state(job, "RUNNING")
            if self.differs_within(20, job):
                return job
            if time.monotonic() > deadline:
                busy = os.getloadavg()[1] > os.cpu_count()
                self.assertFalse(strict and not busy, "the trial tells no difference, or has no forecast")
                TRIAL.rare |= {field for field in TRIAL.all if field.startswith(("differences", "forecast"))}
                return job
            self.act(OWNER, "POST", f"/v1/jobs/{job}/cancel")
            self.until_state(job, "CANCELLED")

    def differs_within(self, seconds, job):
        deadline = time.monotonic() + seconds
        while not self.differs(job):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def differs(self, job):
        trial = self.get(0, "/v1/shadow")
        sides = [change for round in trial["differences"] for change in round["changes"] if change["job"] == job]
        return trial["forecast"] and any(change["live"] and change["shadow"] for change in sides)

    def live_to_many_an_end(self):
        ends = [(self.submit(OWNER, spec, ["sh", "-c", command]), state) for spec, command, state in (
            ({"max_duration_seconds": 1}, "sleep 600", "TIMEOUT"), ({}, "kill -KILL $$", "FAILED"))]
        self.read_jobs(self.submit(OWNER, {"hold": True, "after": [ends[0][0]]}, ["true"]))
        for job, state in ends:
            self.until_state(job, state)
            self.read_jobs(job)

    def read_events(self):
        owners = {job["id"] for job in self.get(0, "/v1/jobs?all=1")["jobs"] if job["uid"] == OWNER}
        own, others, roots = ([event for event in self.get(uid, "/v1/events")["events"] if event.get("job") in owners | {None}]
                              for uid in (OWNER, OTHER, 0))
        self.assertEqual(own, roots)
        self.assertEqual([event["seq"] for event in own if event["kind"] not in OWNERS_EVENTS], [event["seq"] for event in others])
        shown = {event["seq"]: event for event in others}
        for event in own:
            with self.subTest(event["kind"]):
                answer = EVENTS[event["kind"]]
                if event["kind"] in OWNERS_EVENTS:
                    self.see("owner", answer, event)
                else:
                    self.see_alike(answer, (event, shown[event["seq"]], event))
        last = others[-1]["seq"]
        self.assertNotIn(SECRET, self.followed(OTHER, last))
        self.assertIn(SECRET, self.followed(OWNER, last))

    def followed(self, uid, last):
        """What somebody who follows all events gets up to this one."""
        def act():
            with closing(UnixConnection(self.socket)) as connection:
                connection.request("GET", "/v1/events?follow=1&from=1")
                text = ""
                while f"id: {last}\n" not in text:
                    text += connection.sock.recv(65536).decode(errors="replace")
                return text
        return as_user(uid, act)

    def expect_all_told(self):
        answers = {f"GET {pattern}": answer for (method, pattern), (_, _, answer) in ROUTES.items() if method == "GET" and answer}
        answers |= {"a switch": SWITCH}
        answers |= {kind: answer for kind, answer in EVENTS.items() if kind not in UNLIKE_HERE}
        for name, answer in answers.items():
            with self.subTest(name):
                self.assertEqual(sorted(answer.all - answer.rare - answer.told), [], "nothing of this was seen")

    def test_every_kind_of_event_has_its_row(self):
        kinds = re.search(r"kEventKinds = \{([^}]*)\}", (ROOT / "src/wire/entry_json.cpp").read_text())[1]
        self.assertEqual(set(re.findall(r'"([a-z_]+)"', kinds)) | {"plan"}, set(EVENTS))


class SentencesTest(PeopleTest):
    """What is said of a job is said to everybody, but not in its owner's words."""

    def test_an_end(self):
        own, seen = (self.get(uid, f"/v1/jobs/{self.failed}") for uid in (OWNER, OTHER))
        self.assertIn(SECRET, own["ending"])
        self.assertEqual((seen["ending"], seen["reason"]), ("could not be started: its files are not on the node",) * 2)

    def test_why(self):
        first = {uid: self.get(uid, f"/v1/jobs/{self.failed}/why")["lines"][0] for uid in (OWNER, OTHER, 0)}
        self.assertIn(SECRET, first[OWNER])
        self.assertFalse(first[OWNER].endswith(".."), first[OWNER])
        self.assertEqual(first[0], first[OWNER])
        self.assertNotIn(SECRET, first[OTHER])

    def test_what_is_shown_alike_is_alike(self):
        own, seen = (self.get(uid, f"/v1/jobs/{self.saved}") for uid in (OWNER, OTHER))
        for key in ("id", "name", "uid", "state", "target", "progress", "submitted_at", "gang", "exit_code", "cause"):
            self.assertEqual(own[key], seen[key], key)


if __name__ == "__main__":
    unittest.main(verbosity=2)
