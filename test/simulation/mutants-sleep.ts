import { wanted } from "#kit/snapshots/cluster-sleep.ts";
import { FORMED, FORMING } from "./leanings.ts";
import { leftOut, leftUnguarded, type Mutant, replacedInPeer, seeing, unguarded, without } from "./mutant.ts";
import type { Leaning } from "./profile.ts";

// Mutants of the rules for sleeping clusters.

const SLEEPY: Leaning = { ...FORMED, often: { sleep: 4 } };
/** Clusters stay as people left them. */
const ASLEEP: Leaning = { ...SLEEPY, isTidied: false };
/** Five members, so that some are up before others. */
const WAKING: Leaning = { ...FORMED, replicas: 5, often: { sleep: 4, editReplicas: 2, kubernetes: 15 }, steps: 160 };

const LEFT_OUT = leftOut("cluster", [
  { name: "asleep", leaning: ASLEEP },
  { name: "start-sleep", leaning: ASLEEP },
  { name: "wake-up", leaning: SLEEPY },
  { name: "await-wake-up", leaning: WAKING },
]);

const UNGUARDED = leftUnguarded("cluster", [
  {
    name: "sleep-is-asked",
    leaning: SLEEPY,
    covered: "rules start-sleep and wake-up check this themselves; see the pair",
    promise: "stop is requested",
  },
  {
    name: "sleep-keeps-members",
    leaning: SLEEPY,
    covered: "rules asleep and start-sleep come first; see the pair",
    promise: "sleep keeps members",
  },
]);

/** Takes the cluster of the member for asleep. */
const drowsy = replacedInPeer("replica-set", (real, snapshot) => real.decide({ ...snapshot, isAsleep: true }));

export const SLEEP_MUTANTS: readonly Mutant[] = [
  ...LEFT_OUT,
  ...UNGUARDED,
  ...leftOut("peer", [{ name: "asleep", leaning: ASLEEP }]),
  ...leftUnguarded("peer", [
    {
      name: "stop-is-asked",
      leaning: FORMING,
      covered: "the ReplicaSet follows the observed cluster; see the pair",
      promise: "stop is requested",
    },
  ]),
  {
    name: "a cluster is put to sleep without a request + without guard sleep-is-asked",
    edits: [seeing("start-sleep", (snapshot) => wanted(snapshot, 0)), unguarded("cluster", "sleep-is-asked")],
    leaning: FORMED,
    promise: "stop is requested",
  },
  {
    name: "other rules act while spec.replicas is 0 + without guard sleep-keeps-members",
    edits: [
      without("cluster", "asleep"),
      without("cluster", "start-sleep"),
      unguarded("cluster", "sleep-keeps-members"),
    ],
    leaning: SLEEPY,
    promise: "sleep keeps members",
  },
  {
    name: "a member of an awake cluster is stopped + without peer guard stop-is-asked",
    edits: [drowsy, unguarded("peer", "stop-is-asked")],
    leaning: FORMING,
    promise: "stop is requested",
  },
];
