import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import {
  claim,
  claimIdentity,
  cluster,
  knownFor,
  LATER_ID,
  sickFor,
  withArrival,
  withBudget,
  withoutMember,
  withRemoval,
} from "#kit/cluster.ts";
import {
  stranger,
  withAlarms,
  withIntent,
  withJoined,
  withMember,
  withoutPeers,
  withStraggler,
} from "#kit/cluster-changes.ts";
import type { Service } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";

// When both rules have an opinion, the first one speaks: the place in the list is part of each rule.

/** Who speaks, in this order: remarks, and who decides, whether or not a guard holds it back. */
function speakers(plan: Plan<ClusterStep>): readonly string[] {
  const remarks = (plan.aside ?? []).map(({ rule }) => rule);
  if (plan.next === "settled") return [...remarks, "deleting"];
  return [...remarks, /\(held back: (.+)\)$/.exec(plan.because)?.[1] ?? plan.rule];
}

/** etcd has added my-etcd-4 besides, which has no peer. */
function withOrphan(snapshot: ClusterSnapshot): ClusterSnapshot {
  const peerUrls = ["http://my-etcd-4.my-etcd.foo.svc:2380"];
  return withMember(snapshot, stranger({ peerUrls, isLearner: true }));
}

const settled = cluster();
const wanted5 = cluster({ spec: { replicas: 5 } });
const added = withArrival(wanted5, "my-etcd-3", "added");
const paused = { [PAUSED_ANNOTATION]: "true" };
const theirs: Service = {
  ...settled.headlessService!,
  metadata: { ...settled.headlessService!.metadata, ownerReferences: [] },
};
const kept = [0, 1, 2].map((n) => claim(`my-etcd-${n}`, claimIdentity("abc", `${n + 1}`)));
const full = { type: "NOSPACE", id: "abc" } as const;
const disputed = { type: "CORRUPT" } as const;
const corruptAndGone = { type: "CORRUPT", id: "abc" } as const;

const pairs: { order: readonly string[]; so: string; given: ClusterSnapshot }[] = [
  {
    order: ["deleting", "no-space"],
    so: "a cluster that goes is left to go",
    given: withAlarms(cluster({ deleting: true }), full),
  },
  {
    order: ["no-space", "refuse-upgrade", "paused"],
    so: "both are said, also while it is paused",
    given: withAlarms(cluster({ spec: { version: "3.7.3" }, annotations: paused }), full),
  },
  {
    order: ["paused", "name-taken"],
    so: "nobody is told to delete anything for a cluster that is paused",
    given: cluster({ stage: "new", annotations: paused, with: { headlessService: theirs } }),
  },
  {
    order: ["name-taken", "adopt-claims"],
    so: "nothing half-done stays behind",
    given: cluster({ stage: "new", with: { headlessService: theirs, claims: kept } }),
  },
  {
    order: ["record-joined", "fence"],
    so: "who has joined is known before anybody is changed",
    given: withJoined(cluster({ stage: "joined" }), 2),
  },
  {
    order: ["fence", "headless-service"],
    so: "every moment before is one in which an emptied member could vote",
    given: cluster({ stage: "joined", with: { headlessService: undefined } }),
  },
  {
    order: ["bootstrap", "restore-peer"],
    so: "first members start side by side",
    given: withoutPeers(withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false }), "my-etcd-1", "my-etcd-2"),
  },
  {
    order: ["restore-peer", "client-service"],
    so: "a member comes before who wants to use it",
    given: withoutPeers(cluster({ with: { clientService: undefined } }), "my-etcd-1"),
  },
  {
    order: ["client-service", "disruption-budget"],
    so: "clients come before evictions",
    given: cluster({ with: { clientService: undefined, budget: undefined } }),
  },
  {
    order: ["disruption-budget", "identify-member"],
    so: "no pod without a vote is ready before the budget counts it",
    given: { ...withIntent(added), budget: wanted5.budget },
  },
  {
    order: ["disruption-budget", "restore-learner"],
    so: "the same is true of a learner that gets its peer back",
    given: { ...withOrphan(wanted5), budget: wanted5.budget },
  },
  {
    order: ["await-quorum", "await-verdict"],
    so: "nobody is told to remove a member while none can be removed",
    given: withAlarms(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), disputed),
  },
  {
    order: ["await-verdict", "disarm-alarm"],
    so: "no alarm is lowered while nobody knows whose data is right",
    given: withAlarms(settled, corruptAndGone, disputed),
  },
  {
    order: ["disarm-alarm", "retire-peer"],
    so: "until then nobody is served",
    given: withAlarms(withoutMember(settled, "my-etcd-2"), corruptAndGone),
  },
  {
    order: ["retire-peer", "identify-member"],
    so: "what is over is cleared away before anything new begins",
    given: withoutMember(withIntent(added), "my-etcd-2"),
  },
  {
    order: ["identify-member", "restore-learner"],
    so: "an intent is recognised before another member gets a peer",
    given: withBudget(withOrphan(withIntent(added))),
  },
  {
    order: ["restore-learner", "take-back-learner"],
    so: "every member has a peer before one of them is sent away",
    given: withBudget(withOrphan(withArrival(settled, "my-etcd-3", "added"))),
  },
  {
    order: ["promote-learner", "give-up-learner"],
    so: "who has arrived at last is not sent away for being late",
    given: withBudget(knownFor(withArrival(wanted5, "my-etcd-3", "synced"), LATER_ID, 700_000)),
  },
  {
    order: ["give-up-learner", "remove-member"],
    so: "who is late is looked at first, and one-at-a-time holds that back while somebody else is leaving",
    given: withRemoval(knownFor(added, LATER_ID, 700_000), "my-etcd-1", "replacement"),
  },
  {
    order: ["await-learner", "replace-lost"],
    so: "nothing else begins while a member is on its way",
    given: sickFor(
      withArrival(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-3", "added"),
      "my-etcd-1",
      300_000,
    ),
  },
  {
    order: ["replace-lost", "scale-down"],
    so: "the claim of a lost member is kept, although fewer are wanted",
    given: sickFor(cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
  },
];

for (const { order, so, given } of pairs) {
  test(`cluster order: ${order.join(" speaks before ")}: ${so}`, () => {
    const having = CLUSTER_RULES.filter((rule) => rule.decide(given) !== undefined).map(({ name }) => name);
    expect(having.filter((name) => order.includes(name))).toEqual(order);
    const spoken = speakers(planCluster(given));
    expect(spoken).toEqual(order.slice(0, spoken.length));
  });
}
