import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { HealthLog } from "#cluster/members/health-log.ts";
import { votersOf } from "#cluster/members/members.ts";
import { type ClusterSnapshot, type MemberHistory, peerNamed } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { step } from "#runtime/decide.ts";
import { FORMED, SCALED } from "./leanings.ts";
import { doing, type Edit, type Mutant, replaced, seeing, unguarded } from "./mutant.ts";
import { listedByRecord } from "./mutants-cluster.ts";
import type { Leaning } from "./profile.ts";

// The time limit, the kubelet's report, the other members' reports, the guard and the last check protect a healthy
// member from removal. Each is broken here; those that only work together are broken together.

/** Healthy members that the operator cannot reach. */
const HIDDEN: Leaning = { ...FORMED, often: { hideMember: 1, call: 60, time: 60 }, steps: 400 };
/** Members that crash and restart. */
const DYING: Leaning = { ...FORMED, often: { killContainer: 5, time: 20 }, steps: 160 };
/** New members get no volume, and replacements are needed. */
const NO_VOLUME: Leaning = { ...SCALED, obstacle: "noVolume" };

/** Removes the kubelets' reports and the members' reports about each other. */
function speechless(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = [...snapshot.pods].map(([name, pod]): [string, Pod] => {
    const conditions = pod.status?.conditions?.filter(({ type }) => type !== "Ready") ?? [];
    return [name, { ...pod, status: { ...pod.status, conditions } }];
  });
  return { ...snapshot, pods: new Map(pods), heard: new Set() };
}

type Look = (log: HealthLog, snapshot: ClusterSnapshot) => ReadonlyMap<string, MemberHistory>;

/**
 * Replaces how member histories are counted. Each process of the operator starts with an empty log, like the real one.
 */
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

const withoutWords = counting((log, snapshot) => log.record(keyOf(snapshot), speechless(snapshot), snapshot.takenAtMs));

/** Longer than one observation is valid (VOUCHED_MS in health-log.ts). */
const FAR_MS = 15_000;
const observedAtMs = new WeakMap<HealthLog, number>();

/** Counts as if observations in between had found the same. */
function inFull(): Look {
  return (log, snapshot) => {
    const key = keyOf(snapshot);
    const atMs = snapshot.takenAtMs;
    for (let ms = (observedAtMs.get(log) ?? atMs) + FAR_MS; ms < atMs; ms += FAR_MS) log.record(key, snapshot, ms);
    observedAtMs.set(log, atMs);
    return log.record(key, snapshot, atMs);
  };
}

/** Rules for giving up members ignore the reports of kubelets and other members. */
const deaf: readonly Edit[] = [seeing("replace-lost", speechless), seeing("remove-member", speechless)];

/** Members that return after they were given up, while no operator runs. */
const MARKED: Leaning = {
  ...FORMED,
  often: { cutOffMember: 3, crashOperator: 6, call: 60, time: 60 },
  steps: 400,
};

/** Removes every member that was given up, whatever its current state. */
const atOnce = replaced("remove-member", (real, snapshot) => {
  const member = votersOf(snapshot).find(
    ({ name }) => peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] === "replacement",
  );
  if (member === undefined) return real.decide(snapshot);
  const { name, id } = member;
  return step("mutant", { do: "removeMember", name, id: memberIdFromHex(id) });
});

/** Counts the time in which a learner only lacks a pod like any other time. */
function impatient(snapshot: ClusterSnapshot): ClusterSnapshot {
  const histories = [...snapshot.histories].map(([id, history]): [string, MemberHistory] => {
    return [id, { ...history, knownForMs: Math.max(history.knownForMs, history.sickForMs) }];
  });
  return { ...snapshot, histories: new Map(histories) };
}

export const HEALING_MUTANTS: readonly Mutant[] = [
  {
    name: "replace-lost does not wait for the replacement time",
    edits: [seeing("replace-lost", (snapshot) => ({ ...snapshot, replaceAfterMs: 0 }))],
    leaning: DYING,
  },
  {
    name: "a restarted operator trusts the times in the status",
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
        earlierTriesMs: 0,
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
    name: "reports of other members are ignored + without guard no-sign-of-life",
    promise: "healthy members stay",
    parts: withoutWords,
    edits: [...deaf, unguarded("cluster", "no-sign-of-life")],
    leaning: HIDDEN,
  },
  {
    name: "time without a member list counts as lost time",
    parts: counting((log, snapshot) => log.record(keyOf(snapshot), listedByRecord(snapshot), snapshot.takenAtMs)),
    leaning: { ...FORMED, often: { killContainer: 6, nodeDown: 3, time: 30 }, steps: 200 },
    covered:
      "an outage ends with every live member healthy; only lost members are given up sooner, which promise patience allows (health-log.test.ts)",
  },
  {
    name: "the time between two distant observations counts completely as lost time",
    parts: counting(inFull()),
    leaning: { ...FORMED, often: { killContainer: 3, time: 20, call: 3, deliver: 3, kubernetes: 20 }, steps: 400 },
    covered:
      "no history had a member that two distant observations found unhealthy and that was healthy in between (health-log.test.ts)",
  },
  {
    name: "a gap between observations resets the lost time",
    parts: counting((log, snapshot) => {
      const key = keyOf(snapshot);
      const atMs = snapshot.takenAtMs;
      if (atMs - (observedAtMs.get(log) ?? atMs) > FAR_MS) log.forget(key);
      observedAtMs.set(log, atMs);
      return log.record(key, snapshot, atMs);
    }),
    leaning: { ...FORMED, often: { deleteClaim: 2, deletePod: 3, time: 30 } },
    covered:
      "a lost member is only given up later, and a history ends in a calm period with frequent observations (health-log.test.ts)",
  },
  {
    name: "a recorded removal is carried out even if the member has recovered",
    edits: [atOnce],
    leaning: MARKED,
    covered:
      "guard no-sign-of-life checks again, and no history had an operator end between mark and removal while the member came back",
  },
  {
    name: "the claim of a member that never ran is quarantined",
    edits: ["give-up-learner", "replace-lost"].map((rule) =>
      doing(rule, (real) =>
        real.do === "markRemoval" && real.removal === "never-started" ? { ...real, removal: "replacement" } : real,
      ),
    ),
    leaning: NO_VOLUME,
  },
  {
    name: "a learner with a refused pod is given up",
    edits: [seeing("give-up-learner", impatient)],
    leaning: { ...SCALED, obstacle: "podsRefused" },
    covered: "its claim is deleted with it, so only time is lost; src/cluster/members/giving-up.test.ts",
  },
];
