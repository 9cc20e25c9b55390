import { wanted } from "#kit/cluster-sleep.ts";
import { FORMED, FORMING } from "./leanings.ts";
import { leftOut, leftUnguarded, type Mutant, replacedInPeer, seeing, unguarded, without } from "./mutant.ts";
import type { Leaning } from "./profile.ts";

// What the operator would do wrong about clusters that people put to sleep and wake.

const SLEEPY: Leaning = { ...FORMED, often: { sleep: 4 } };
/** How people leave their clusters is how they stay. */
const ASLEEP: Leaning = { ...SLEEPY, isTidied: false };
/** As many members as it takes for some to be up before others. */
const WAKING: Leaning = { ...FORMED, replicas: 5, often: { sleep: 4, editReplicas: 2, kubernetes: 15 }, steps: 160 };

const LEFT_OUT = leftOut("cluster", [
  { name: "asleep", leaning: ASLEEP },
  { name: "fall-asleep", leaning: ASLEEP },
  { name: "wake-up", leaning: SLEEPY },
  { name: "await-waking", leaning: WAKING },
]);

const UNGUARDED = leftUnguarded("cluster", [
  {
    name: "sleep-is-asked",
    leaning: SLEEPY,
    covered: "fall-asleep and wake-up look themselves; see the pair",
    promise: "a stop is asked for",
  },
  {
    name: "sleep-keeps-members",
    leaning: SLEEPY,
    covered: "asleep and fall-asleep are asked before; see the pair",
    promise: "sleepers stay",
  },
]);

/** A member that takes its cluster for one that sleeps. */
const drowsy = replacedInPeer("replica-set", (real, snapshot) => real.decide({ ...snapshot, isAsleep: true }));

export const SLEEP_MUTANTS: readonly Mutant[] = [
  ...LEFT_OUT,
  ...UNGUARDED,
  ...leftOut("peer", [{ name: "asleep", leaning: ASLEEP }]),
  ...leftUnguarded("peer", [
    {
      name: "stop-is-asked",
      leaning: FORMING,
      covered: "the ReplicaSet follows what is seen of the cluster; see the pair",
      promise: "a stop is asked for",
    },
  ]),
  {
    name: "puts to sleep of whom members are wanted + without guard sleep-is-asked",
    edits: [seeing("fall-asleep", (snapshot) => wanted(snapshot, 0)), unguarded("cluster", "sleep-is-asked")],
    leaning: FORMED,
    promise: "a stop is asked for",
  },
  {
    name: "goes on although nobody is wanted + without guard sleep-keeps-members",
    edits: [
      without("cluster", "asleep"),
      without("cluster", "fall-asleep"),
      unguarded("cluster", "sleep-keeps-members"),
    ],
    leaning: SLEEPY,
    promise: "sleepers stay",
  },
  {
    name: "a member is stopped with nobody asleep + without peer guard stop-is-asked",
    edits: [drowsy, unguarded("peer", "stop-is-asked")],
    leaning: FORMING,
    promise: "a stop is asked for",
  },
];
