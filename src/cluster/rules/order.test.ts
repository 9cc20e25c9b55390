import { expect, test } from "vitest";
import { PAUSED_ANNOTATION, ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { absent } from "#base/observed.ts";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot, SeenCertificates } from "#cluster/snapshot.ts";
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
import { guarded, NO_USERS, PREPARED } from "#kit/cluster-auth.ts";
import {
  stranger,
  withAlarms,
  withIntent,
  withJoined,
  withMember,
  withoutPeers,
  withStraggler,
} from "#kit/cluster-changes.ts";
import { monitoring, withMonitored } from "#kit/cluster-monitoring.ts";
import {
  BEFORE,
  downgrading,
  NEWER,
  NEXT_MINOR,
  OLD,
  ON_DELETE,
  silentFor,
  wanting,
  withCanary,
  withCrashing,
  withPeer,
  withRunning,
  withStop,
  withTurn,
} from "#kit/cluster-rolling.ts";
import { asleep, SLEEP, tired, withSleep, woken } from "#kit/cluster-sleep.ts";
import { switching } from "#kit/cluster-switch.ts";
import { listedBy, secured, unissued, withMade, withSeen } from "#kit/cluster-tls.ts";
import { etcdRestore } from "#kit/etcd-restore.ts";
import { etcdBackupSchedule } from "#kit/schedule.ts";
import type { NetworkPolicy, Service } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";

// When both rules have an opinion, the first one speaks: the place in the list is part of each rule.

/** Who speaks, in this order: remarks, and who decides, whether or not a guard holds it back. */
function speakers(plan: Plan<ClusterStep>): readonly string[] {
  const remarks = (plan.aside ?? []).map(({ rule }) => rule);
  if (plan.next === "settled") return [...remarks, "deleting"];
  return [...remarks, /\(held back: (.+)\)$/.exec(plan.because)?.[1] ?? plan.rule];
}

/** The member had an earlier release before what it is well with. */
function hadBefore(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return withPeer(snapshot, name, { spec: { previous: { ...OLD, version: "3.6.15" } } });
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

const wanted = wanting(NEWER);
const twoDown = wanting(NEWER, { replicas: 5, down: ["my-etcd-1", "my-etcd-2"] });
const noQuorum = wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] });
const late = silentFor(withCanary(wanted, "my-etcd-2"), "my-etcd-2", 600_000);
const monitored = withMonitored(wanting(NEWER, { spec: { monitoring: { podMonitor: true } } }), "Waiting");
const lateAndMonitored = silentFor(withCanary(monitored, "my-etcd-2"), "my-etcd-2", 600_000);

const unfilled = etcdRestore({ status: { phase: "Failed" } });
const owner = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", name: "my-etcd", controller: true };
const ownerReferences = [{ ...owner, uid: settled.cluster.metadata.uid }];
const failedRestore = { ...unfilled, metadata: { ...unfilled.metadata, ownerReferences } };

const pairs: { order: readonly string[]; so: string; given: ClusterSnapshot }[] = [
  {
    order: ["deleting", "no-space"],
    so: "a cluster that goes is left to go",
    given: withAlarms(cluster({ deleting: true }), full),
  },
  {
    order: ["no-space", "no-version-path", "paused"],
    so: "both are said, also while it is paused",
    given: withAlarms(cluster({ spec: { version: "3.4.1" }, annotations: paused }), full),
  },
  {
    order: ["paused", "refused-spec"],
    so: "nobody is told to mend a cluster that is paused",
    given: cluster({ stage: "new", annotations: paused, spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }),
  },
  {
    order: ["refused-spec", "name-taken"],
    so: "what is made from it would have to be thrown away",
    given: cluster({
      stage: "new",
      spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } },
      with: { headlessService: theirs },
    }),
  },
  {
    order: ["paused", "name-taken"],
    so: "nobody is told to delete anything for a cluster that is paused",
    given: cluster({ stage: "new", annotations: paused, with: { headlessService: theirs } }),
  },
  {
    order: ["paused", "asleep"],
    so: "nobody is said to sleep whom nobody may stop",
    given: { ...asleep({ annotations: paused }) },
  },
  {
    order: ["asleep", "refused-spec"],
    so: "nothing is made, whatever it is made from",
    given: withSleep(tired({ spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }), SLEEP),
  },
  {
    order: ["wake-up", "refused-spec"],
    so: "their time begins first, whatever they are asked to run",
    given: withSleep(cluster({ spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }), SLEEP),
  },
  {
    order: ["wake-up", "await-waking"],
    so: "their time begins before they are waited for",
    given: withSleep(cluster({ down: ["my-etcd-1"] }), SLEEP),
  },
  {
    order: ["fence", "fall-asleep"],
    so: "who sleeps may lose its volume unseen",
    given: cluster({ stage: "joined", spec: { replicas: 0 } }),
  },
  {
    order: ["fall-asleep", "headless-service"],
    so: "nobody needs it while nobody runs",
    given: tired({ with: { headlessService: undefined } }),
  },
  {
    order: ["cancel-downgrade", "await-waking"],
    so: "nobody wakes into a downgrade that is not wanted",
    given: downgrading(woken({ down: ["my-etcd-1"] }), ["my-etcd-0", "my-etcd-2"]),
  },
  {
    order: ["await-waking", "retire-peer"],
    so: "nobody goes before all are back who slept",
    given: withoutMember(woken({ down: ["my-etcd-1"] }), "my-etcd-2"),
  },
  {
    order: ["disruption-budget", "await-waking"],
    so: "evictions are held back before the last one is up",
    given: woken({ down: ["my-etcd-1"], with: { budget: undefined } }),
  },
  {
    order: ["name-taken", "adopt-claims"],
    so: "nothing half-done stays behind",
    given: cluster({ stage: "new", with: { headlessService: theirs, claims: kept } }),
  },
  {
    order: ["restore-failed", "claim-taken"],
    so: "claims that a failed restore has left unfilled are no earlier cluster's",
    given: cluster({
      stage: "new",
      spec: { bootstrap: { fromBackup: { backupName: "nightly" } } },
      with: { restore: failedRestore, claims: [claim("my-etcd-0")] },
    }),
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
    order: ["disruption-budget", "pod-monitor"],
    so: "evictions come before metrics",
    given: { ...monitoring(absent), budget: undefined },
  },
  {
    order: ["pod-monitor", "forget-previous"],
    so: "what a member had before is in nobody's way until then",
    given: hadBefore(monitoring(absent), "my-etcd-1"),
  },
  {
    order: ["forget-previous", "stop-update"],
    so: "who is well is no matter of who does not come up",
    given: hadBefore(late, "my-etcd-0"),
  },
  {
    order: ["pod-monitor", "stop-update"],
    so: "the metrics of an update that fails are looked at, too",
    given: { ...lateAndMonitored, podMonitor: absent },
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
    order: ["disruption-budget", "stop-update"],
    so: "evictions go on once the member has restarted, whatever becomes of it",
    given: { ...late, budget: withTurn(wanted, "my-etcd-2").budget },
  },
  {
    order: ["stop-update", "renew-stopped"],
    so: "nobody else gets what the first one does not come up with",
    given: withCrashing(
      withCrashing(silentFor(withCanary(noQuorum, "my-etcd-2"), "my-etcd-2", 600_000), "my-etcd-1"),
      "my-etcd-2",
    ),
  },
  {
    order: ["put-back", "renew-stopped"],
    so: "the first one goes back first",
    given: withBudget(
      withStop(
        withCrashing(withCanary(withCrashing(withTurn(twoDown, "my-etcd-1"), "my-etcd-1"), "my-etcd-2"), "my-etcd-2"),
        "my-etcd-2",
      ),
    ),
  },
  {
    order: ["renew-stopped", "restart-stopped"],
    so: "everybody has what is wanted before anybody starts with it: they may need each other",
    given: withTurn(withCrashing(withCrashing(twoDown, "my-etcd-1"), "my-etcd-2"), "my-etcd-1"),
  },
  {
    order: ["restart-stopped", "await-members"],
    so: "a first member that cannot start is not waited for",
    given: withTurn(
      withCrashing(withRunning(cluster({ stage: "starting", spec: NEWER }), "my-etcd-0", "my-etcd-2"), "my-etcd-1"),
      "my-etcd-1",
    ),
  },
  {
    order: ["replace-lost", "restart-member"],
    so: "a sick cluster is healed first",
    given: withRunning(
      sickFor(withTurn(wanting(NEWER, { replicas: 5, down: ["my-etcd-1"] }), "my-etcd-2"), "my-etcd-1", 300_000),
      "my-etcd-1",
    ),
  },
  {
    order: ["restart-member", "scale-down"],
    so: "a turn ends before anybody leaves",
    given: withTurn(wanting(NEWER, { spec: { replicas: 2 } }), "my-etcd-1"),
  },
  {
    order: ["restart-member", "scale-up"],
    so: "a turn ends before anybody comes",
    given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-1"),
  },
  {
    order: ["scale-up", "give-turn"],
    so: "more members help the cluster through the turns",
    given: wanting(NEWER, { spec: { replicas: 5 } }),
  },
  {
    order: ["scale-down", "give-turn"],
    so: "who leaves needs no turn",
    given: wanting(NEWER, { spec: { replicas: 2 } }),
  },
  {
    order: ["backup-first", "give-turn"],
    so: "a backup is begun before people are waited for",
    given: {
      ...withTurn(wanting(NEXT_MINOR, { spec: ON_DELETE }), "my-etcd-2", NEWER),
      schedules: [etcdBackupSchedule()],
    },
  },
  {
    order: ["give-turn", "await-health"],
    so: "it is said what waits for the member that is down",
    given: wanting(NEWER, { down: ["my-etcd-1"] }),
  },
  {
    order: ["replace-lost", "scale-down"],
    so: "the claim of a lost member is kept, although fewer are wanted",
    given: sickFor(cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
  },
];

const secure = secured();
const mixed = secured({}, { peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } });
const unknownYet = { is: "unknown", why: "no answer" } as const;
const { headlessService: names } = settled;
/** What clients are shown is there, and what members show to each other could not be read. */
const unread = withSeen(
  withMade(unissued({ stage: "recorded", with: { headlessService: names } }), {
    peerCA: {},
    clientCA: {},
    server: {},
    operator: {},
    application: {},
  }),
  { peer: unknownYet },
);
/** The last member has been restarted and is reached over TLS, and etcd lists it as before. */
const unlisted = listedBy(switching({}, ["both", "both", "reached"]), "http", ["my-etcd-2"]);

/** my-etcd-1 does not answer, and its pod is gone. */
function silent(snapshot: ClusterSnapshot): ClusterSnapshot {
  const others = ([name]: readonly [string, unknown]) => name !== "my-etcd-1";
  return {
    ...snapshot,
    pods: new Map([...snapshot.pods].filter(others)),
    endpoints: new Map([...snapshot.endpoints].filter(others)),
  };
}

/** Applications have yet to get what cert-manager has issued for them, and this is missing besides. */
function handingOut(lacking: Partial<SeenCertificates>): ClusterSnapshot {
  const managed = secured({}, { client: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } });
  return { ...managed, certificates: { ...managed.certificates, handout: absent, ...lacking } };
}

const LATE_MS = secure.takenAtMs + 70 * 86_400_000;
pairs.push(
  {
    order: ["no-version-path", "certificate-ends", "paused"],
    so: "people hear of it also while it is paused",
    given: {
      ...secured({ spec: { version: "3.4.1" }, annotations: paused }),
      takenAtMs: LATE_MS,
    },
  },
  {
    order: ["headless-service", "network-policy"],
    so: "nobody is kept from what has no name yet",
    given: cluster({ stage: "recorded", spec: { networkPolicy: { enabled: true } } }),
  },
  {
    order: ["network-policy", "await-network-policy"],
    so: "it is made before it is waited for",
    given: cluster({
      stage: "recorded",
      spec: { networkPolicy: { enabled: true } },
      with: { headlessService: settled.headlessService },
    }),
  },
  {
    order: ["network-policy", "await-network-policy", "bootstrap"],
    so: "who may not reach the members never can",
    given: cluster({
      stage: "recorded",
      spec: { networkPolicy: { enabled: true } },
      with: {
        headlessService: settled.headlessService,
        networkPolicy: { ...theirs, kind: "NetworkPolicy", apiVersion: "networking.k8s.io/v1" } as NetworkPolicy,
      },
    }),
  },
  {
    order: ["network-policy", "await-network-policy", "authority"],
    so: "nothing is made for members that may not be made",
    given: unissued({
      stage: "recorded",
      spec: { networkPolicy: { enabled: true } },
      with: {
        headlessService: settled.headlessService,
        networkPolicy: { ...theirs, kind: "NetworkPolicy", apiVersion: "networking.k8s.io/v1" } as NetworkPolicy,
      },
    }),
  },
  {
    order: ["leaf", "hand-out"],
    so: "what members show comes before what applications do",
    given: handingOut({ peer: absent }),
  },
  {
    order: ["hand-out", "trust-map"],
    so: "it tells what is there by then, to applications, too",
    given: handingOut({ trustMap: absent }),
  },
  {
    order: ["disarm-alarm", "root-secret"],
    so: "until then nobody is served, whoever asks",
    given: withAlarms(guarded({ state: NO_USERS, secret: undefined }), corruptAndGone),
  },
  {
    order: ["switch-auth", "cancel-downgrade"],
    so: "who may use etcd is no matter of its release",
    given: downgrading(guarded({ state: PREPARED }), ["my-etcd-0", "my-etcd-2"]),
  },
  {
    order: ["await-learner", "member-url"],
    so: "etcd is told of one member at a time",
    given: withArrival(
      { ...unlisted, cluster: { ...unlisted.cluster, spec: { ...unlisted.cluster.spec, replicas: 5 } } },
      "my-etcd-3",
      "added",
    ),
  },
  {
    order: ["member-url", "replace-lost"],
    so: "who cannot be dialled may be why somebody seems lost",
    given: sickFor(silent(unlisted), "my-etcd-1", 300_000),
  },
  {
    order: ["await-health", "switch-tls"],
    so: "who is down is named first",
    given: silent(switching({}, ["reached", "reached", "reached"])),
  },
  {
    order: ["headless-service", "authority"],
    so: "names come before what is made out for them",
    given: { ...unissued({ stage: "recorded" }) },
  },
  {
    order: ["authority", "leaf"],
    so: "who signs comes first",
    given: withSeen(secure, { peerCA: absent, server: absent }),
  },
  {
    order: ["authority", "bootstrap"],
    so: "members trust it from their first start on",
    given: unissued({ stage: "recorded", with: { headlessService: settled.headlessService } }),
  },
  {
    order: ["certificate-request", "leaf"],
    so: "what others have to do is asked for first",
    given: (() => {
      const mixed = secured({}, { peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } });
      return withSeen(
        { ...mixed, certificates: { ...mixed.certificates, requests: { peer: absent } } },
        { server: absent },
      );
    })(),
  },
  {
    order: ["leaf", "trust-map"],
    so: "it tells what is there by then",
    given: { ...secure, certificates: { ...secure.certificates, application: absent, trustMap: absent } },
  },
  {
    order: ["leaf", "restore-peer"],
    so: "whoever starts shows it",
    given: withSeen(withoutPeers(secure, "my-etcd-1"), { peer: absent }),
  },
  {
    order: ["leaf", "await-quorum"],
    so: "members that do not believe each other any more have none",
    given: withSeen(secured({ down: ["my-etcd-1", "my-etcd-2"] }), { peer: absent }),
  },
  {
    order: ["authority", "certificate-request"],
    so: "what the operator does itself comes before what it asks for",
    given: withSeen(
      { ...mixed, certificates: { ...mixed.certificates, requests: { peer: absent } } },
      { clientCA: absent },
    ),
  },
  {
    order: ["trust-map", "await-certificates"],
    so: "clients may be told before there are members",
    given: { ...unread, certificates: { ...unread.certificates, trustMap: absent } },
  },
  {
    order: ["await-certificates", "bootstrap"],
    so: "members are made with their certificates, or not at all",
    given: { ...unread, certificates: { ...unread.certificates, trustMap: unknownYet } },
  },
  {
    order: ["enable-downgrade", "rotate-authority"],
    so: "a way back that is asked for is not held up",
    given: rotatingToo({ ...secure, cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...BEFORE } } }),
  },
  {
    order: ["rotate-authority", "backup-first"],
    so: "the update for which the backup is made carries both",
    given: rotatingToo({
      ...secure,
      schedules: [etcdBackupSchedule()],
      cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...NEXT_MINOR } },
    }),
  },
  {
    order: ["scale-up", "rotate-authority"],
    so: "it begins in a cluster that is whole",
    given: rotatingToo(secured({ spec: { replicas: 5 } })),
  },
  {
    order: ["rotate-authority", "give-turn"],
    so: "members restart once for both",
    given: rotatingToo({ ...secure, cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...NEWER } } }),
  },
);

function rotatingToo(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { metadata } = snapshot.cluster;
  const annotations = { ...metadata.annotations, [ROTATE_CA_ANNOTATION]: "all" };
  return { ...snapshot, cluster: { ...snapshot.cluster, metadata: { ...metadata, annotations } } };
}

for (const { order, so, given } of pairs) {
  test(`cluster order: ${order.join(" speaks before ")}: ${so}`, () => {
    const having = CLUSTER_RULES.filter((rule) => rule.decide(given) !== undefined).map(({ name }) => name);
    expect(having.filter((name) => order.includes(name))).toEqual(order);
    const spoken = speakers(planCluster(given));
    expect(spoken).toEqual(order.slice(0, spoken.length));
  });
}
