import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { HealthLog } from "#cluster/health-log.ts";
import { votersOf } from "#cluster/members.ts";
import { type ClusterSnapshot, type MemberHistory, peerNamed } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { step } from "#runtime/decide.ts";
import { FORMED, SCALED } from "./leanings.ts";
import { doing, type Edit, type Mutant, replaced, seeing, unguarded } from "./mutant.ts";
import { listedByRecord } from "./mutants-cluster.ts";
import type { Leaning } from "./profile.ts";

// When is a member given up, and what becomes of it?
//   Several things keep a member that is well: the time that is counted, the kubelet's word, the word of the others, and what the
//   guard and the last look before the removal make of them. Each is broken here; those that only count together, together.

/** Members that nobody of us reaches, and that are well. */
const HIDDEN: Leaning = { ...FORMED, often: { hideMember: 1, call: 60, time: 60 }, steps: 400 };
/** Members that die and come back. */
const DYING: Leaning = { ...FORMED, often: { killContainer: 5, time: 20 }, steps: 160 };
/** Nobody can start anew, and somebody has to. */
const NO_VOLUME: Leaning = { ...SCALED, obstacle: "noVolume" };

/** No kubelet says anything, and no member says whom it hears. */
function speechless(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = [...snapshot.pods].map(([name, pod]): [string, Pod] => {
    const conditions = pod.status?.conditions?.filter(({ type }) => type !== "Ready") ?? [];
    return [name, { ...pod, status: { ...pod.status, conditions } }];
  });
  return { ...snapshot, pods: new Map(pods), heard: new Set() };
}

type Look = (log: HealthLog, snapshot: ClusterSnapshot) => ReadonlyMap<string, MemberHistory>;

/** What it has seen of the members is counted in another way. Each process begins anew, as the real one does. */
function counting(look: Look): Mutant["parts"] & object {
  return {
    cluster: (real) => {
      const log = new HealthLog();
      return {
        ...real,
        plan: (snapshot, resting) => real.plan({ ...snapshot, histories: look(log, snapshot) }, resting),
      };
    },
  };
}

function keyOf({ cluster }: ClusterSnapshot): { namespace: string; name: string } {
  return { namespace: cluster.metadata.namespace ?? "", name: cluster.metadata.name };
}

const withoutWords = counting((log, snapshot) => log.look(keyOf(snapshot), speechless(snapshot), snapshot.takenAtMs));

/** Longer than a look speaks for (VOUCHED_MS in health-log.ts). */
const FAR_MS = 15_000;
const lookedAtMs = new WeakMap<HealthLog, number>();

/** As if there had been looks in between, that found the same. */
function inFull(): Look {
  return (log, snapshot) => {
    const key = keyOf(snapshot);
    const atMs = snapshot.takenAtMs;
    for (let ms = (lookedAtMs.get(log) ?? atMs) + FAR_MS; ms < atMs; ms += FAR_MS) log.look(key, snapshot, ms);
    lookedAtMs.set(log, atMs);
    return log.look(key, snapshot, atMs);
  };
}

/** Rules that give members up hear nobody. */
const deaf: readonly Edit[] = [seeing("replace-lost", speechless), seeing("remove-member", speechless)];

/** Members that come back after they were given up, while no operator runs. */
const MARKED: Leaning = {
  ...FORMED,
  often: { cutOffMember: 3, crashOperator: 6, call: 60, time: 60 },
  steps: 400,
};

/** Whoever was given up is removed, whatever is known of it now. */
const atOnce = replaced("remove-member", (real, snapshot) => {
  const member = votersOf(snapshot).find(
    ({ name }) => peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] === "replacement",
  );
  if (member === undefined) return real.decide(snapshot);
  const { name, id } = member;
  return step("remove-member", "mutant", { do: "removeMember", name, id: memberIdFromHex(id) });
});

/** Time in which all that a learner lacks is a pod counts like any other. */
function impatient(snapshot: ClusterSnapshot): ClusterSnapshot {
  const histories = [...snapshot.histories].map(([id, history]): [string, MemberHistory] => {
    return [id, { ...history, knownForMs: Math.max(history.knownForMs, history.sickForMs) }];
  });
  return { ...snapshot, histories: new Map(histories) };
}

export const HEALING_MUTANTS: readonly Mutant[] = [
  {
    name: "replace-lost has no patience",
    edits: [seeing("replace-lost", (snapshot) => ({ ...snapshot, replaceAfterMs: 0 }))],
    leaning: DYING,
  },
  {
    name: "what the status says of the sick is believed at once",
    parts: counting((_, snapshot) => {
      const told = (ms: number): MemberHistory => ({
        knownForMs: ms,
        sickForMs: ms,
        wellMsAgo: undefined,
        silentForMs: 0,
        unfitForMs: 0,
        triedForMs: 0,
        podlessForMs: 0,
        unreadyForMs: 0,
        lostForMs: ms,
      });
      const recorded = (snapshot.cluster.status?.members ?? []).flatMap(({ id, since }) =>
        since === undefined ? [] : [[id, told(snapshot.takenAtMs - Date.parse(since))] as const],
      );
      return new Map(recorded);
    }),
    leaning: { ...FORMED, often: { killContainer: 6, crashOperator: 8, cutOffMember: 4, time: 60 }, steps: 400 },
  },
  {
    name: "nobody else's word counts + without guard nobody-vouches",
    promise: "the healthy stay",
    parts: withoutWords,
    edits: [...deaf, unguarded("cluster", "nobody-vouches")],
    leaning: HIDDEN,
  },
  {
    name: "patience counts while there is no member list",
    parts: counting((log, snapshot) => log.look(keyOf(snapshot), listedByRecord(snapshot), snapshot.takenAtMs)),
    leaning: { ...FORMED, often: { killContainer: 6, nodeDown: 3, time: 30 }, steps: 200 },
    covered:
      "the look that ends an outage finds everybody well who can be; who stays lost is given up sooner, and patience asks only about those who were just well (health-log.test.ts)",
  },
  {
    name: "time between far looks counts in full",
    parts: counting(inFull()),
    leaning: { ...FORMED, often: { killContainer: 3, time: 20, call: 3, deliver: 3, kubernetes: 20 }, steps: 400 },
    covered: "no history had a member that two far looks found sick and that was well in between (health-log.test.ts)",
  },
  {
    name: "a gap between looks erases what was counted",
    parts: counting((log, snapshot) => {
      const key = keyOf(snapshot);
      const atMs = snapshot.takenAtMs;
      if (atMs - (lookedAtMs.get(log) ?? atMs) > FAR_MS) log.forget(key);
      lookedAtMs.set(log, atMs);
      return log.look(key, snapshot, atMs);
    }),
    leaning: { ...FORMED, often: { deleteClaim: 2, deletePod: 3, time: 30 } },
    covered:
      "a lost member is given up later, and calm comes before the end of a history: then every look is near (health-log.test.ts)",
  },
  {
    name: "a removal on record is carried out at once",
    edits: [atOnce],
    leaning: MARKED,
    covered:
      "nobody-vouches asks anew; and the operator has to end between the mark and the removal, which no history did while the member came back",
  },
  {
    name: "the claim of a member that never ran is put aside",
    edits: ["give-up-learner", "replace-lost"].map((rule) =>
      doing(rule, (real) =>
        real.do === "markRemoval" && real.removal === "never-started" ? { ...real, removal: "replacement" } : real,
      ),
    ),
    leaning: NO_VOLUME,
  },
  {
    name: "a learner whose pod is refused is given up",
    edits: [seeing("give-up-learner", impatient)],
    leaning: { ...SCALED, obstacle: "podsRefused" },
  },
];
