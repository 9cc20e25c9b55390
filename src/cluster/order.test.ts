import { expect, test } from "vitest";
import { PAUSED_ANNOTATION, ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { absent } from "#base/observed.ts";
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
} from "#kit/snapshots/cluster.ts";
import { guarded, NO_USERS, PREPARED } from "#kit/snapshots/cluster-auth.ts";
import {
  stranger,
  withAlarms,
  withIntent,
  withJoined,
  withMember,
  withoutPeers,
  withStraggler,
} from "#kit/snapshots/cluster-changes.ts";
import { monitoring, withMonitored } from "#kit/snapshots/cluster-monitoring.ts";
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
} from "#kit/snapshots/cluster-rolling.ts";
import { asleep, SLEEP, tired, withSleep, woken } from "#kit/snapshots/cluster-sleep.ts";
import { switching } from "#kit/snapshots/cluster-switch.ts";
import { listedBy, secured, unissued, withMade, withSeen } from "#kit/snapshots/cluster-tls.ts";
import { etcdRestore } from "#kit/snapshots/etcd-restore.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import type { NetworkPolicy, Service } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";
import { CLUSTER_RULES, planCluster } from "./plan.ts";
import type { ClusterSnapshot, SeenCertificates } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";

// In each pair both rules have a decision, and the earlier rule wins: the position in the list is part of a rule.

/**
 * Rules in the order of the plan: first those with a notice, then the deciding one, also when a guard holds it back.
 */
function speakers(plan: Plan<ClusterStep>): readonly string[] {
  const notices = (plan.reports ?? []).map(({ rule }) => rule);
  if (plan.next === "settled") return [...notices, "deleting"];
  return [...notices, /\(held back: (.+)\)$/.exec(plan.because)?.[1] ?? plan.rule];
}

/** Has the member run an earlier release before its current template. */
function hadBefore(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return withPeer(snapshot, name, { spec: { previous: { ...OLD, version: "3.6.15" } } });
}

/** Adds member my-etcd-4, which has no EtcdPeer, to etcd's member list. */
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
    so: "a deleted cluster is left alone",
    given: withAlarms(cluster({ deleting: true }), full),
  },
  {
    order: ["no-space", "no-version-path", "paused"],
    so: "both are reported, also during a pause",
    given: withAlarms(cluster({ spec: { version: "3.4.1" }, annotations: paused }), full),
  },
  {
    order: ["paused", "refused-spec"],
    so: "a paused cluster asks for no change of its spec",
    given: cluster({ stage: "new", annotations: paused, spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }),
  },
  {
    order: ["refused-spec", "name-taken"],
    so: "objects made from a refused spec would have to be deleted",
    given: cluster({
      stage: "new",
      spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } },
      with: { headlessService: theirs },
    }),
  },
  {
    order: ["paused", "name-taken"],
    so: "a paused cluster asks for no deletion",
    given: cluster({ stage: "new", annotations: paused, with: { headlessService: theirs } }),
  },
  {
    order: ["paused", "asleep"],
    so: "a paused cluster does not fall asleep",
    given: { ...asleep({ annotations: paused }) },
  },
  {
    order: ["asleep", "refused-spec"],
    so: "a sleeping cluster creates nothing, whatever its spec",
    given: withSleep(tired({ spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }), SLEEP),
  },
  {
    order: ["wake-up", "refused-spec"],
    so: "the members' wake-up time starts first, whatever their spec",
    given: withSleep(cluster({ spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }), SLEEP),
  },
  {
    order: ["wake-up", "await-wake-up"],
    so: "the members' wake-up time starts before the wait for them",
    given: withSleep(cluster({ down: ["my-etcd-1"] }), SLEEP),
  },
  {
    order: ["fence", "start-sleep"],
    so: "a sleeping member may lose its volume unnoticed",
    given: cluster({ stage: "joined", spec: { replicas: 0 } }),
  },
  {
    order: ["start-sleep", "headless-service"],
    so: "a sleeping cluster needs no headless Service",
    given: tired({ with: { headlessService: undefined } }),
  },
  {
    order: ["cancel-downgrade", "await-wake-up"],
    so: "no member wakes up into a downgrade that is not wanted",
    given: downgrading(woken({ down: ["my-etcd-1"] }), ["my-etcd-0", "my-etcd-2"]),
  },
  {
    order: ["await-wake-up", "delete-peer-of-removed"],
    so: "no member is removed before all sleeping members are back",
    given: withoutMember(woken({ down: ["my-etcd-1"] }), "my-etcd-2"),
  },
  {
    order: ["disruption-budget", "await-wake-up"],
    so: "evictions are limited before the last member is up",
    given: woken({ down: ["my-etcd-1"], with: { budget: undefined } }),
  },
  {
    order: ["name-taken", "adopt-claims"],
    so: "no work is left half-done",
    given: cluster({ stage: "new", with: { headlessService: theirs, claims: kept } }),
  },
  {
    order: ["restore-failed", "claims-unclear"],
    so: "claims left unfilled by a failed restore are not an earlier cluster's",
    given: cluster({
      stage: "new",
      spec: { bootstrap: { fromBackup: { backupName: "nightly" } } },
      with: { restore: failedRestore, claims: [claim("my-etcd-0")] },
    }),
  },
  {
    order: ["record-joined", "fence"],
    so: "the join is recorded before any member changes",
    given: withJoined(cluster({ stage: "joined" }), 2),
  },
  {
    order: ["fence", "headless-service"],
    so: "until then a member with lost data could vote",
    given: cluster({ stage: "joined", with: { headlessService: undefined } }),
  },
  {
    order: ["bootstrap", "recreate-peer"],
    so: "the first members start together",
    given: withoutPeers(withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false }), "my-etcd-1", "my-etcd-2"),
  },
  {
    order: ["recreate-peer", "client-service"],
    so: "a member is recreated before clients get a Service for it",
    given: withoutPeers(cluster({ with: { clientService: undefined } }), "my-etcd-1"),
  },
  {
    order: ["client-service", "disruption-budget"],
    so: "the client Service comes before the eviction limit",
    given: cluster({ with: { clientService: undefined, budget: undefined } }),
  },
  {
    order: ["disruption-budget", "pod-monitor"],
    so: "the eviction limit comes before metrics",
    given: { ...monitoring(absent), budget: undefined },
  },
  {
    order: ["pod-monitor", "drop-previous-template"],
    so: "previous templates disturb nothing until then",
    given: hadBefore(monitoring(absent), "my-etcd-1"),
  },
  {
    order: ["drop-previous-template", "stop-update"],
    so: "the template of a healthy member is dropped whatever becomes of an unhealthy one",
    given: hadBefore(late, "my-etcd-0"),
  },
  {
    order: ["pod-monitor", "stop-update"],
    so: "metrics matter in a failing update, too",
    given: { ...lateAndMonitored, podMonitor: absent },
  },
  {
    order: ["disruption-budget", "identify-member"],
    so: "a pod without a vote is not Ready before the budget counts it",
    given: { ...withIntent(added), budget: wanted5.budget },
  },
  {
    order: ["disruption-budget", "recreate-learner"],
    so: "the same holds for a learner with a recreated EtcdPeer",
    given: { ...withOrphan(wanted5), budget: wanted5.budget },
  },
  {
    order: ["await-quorum", "data-differs"],
    so: "no member need be removed while removal is impossible",
    given: withAlarms(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), disputed),
  },
  {
    order: ["data-differs", "disarm-alarm"],
    so: "no alarm is disarmed while it is unknown which data is right",
    given: withAlarms(settled, corruptAndGone, disputed),
  },
  {
    order: ["disarm-alarm", "delete-peer-of-removed"],
    so: "etcd serves no requests until the alarm is disarmed",
    given: withAlarms(withoutMember(settled, "my-etcd-2"), corruptAndGone),
  },
  {
    order: ["delete-peer-of-removed", "identify-member"],
    so: "leftovers are deleted before new work begins",
    given: withoutMember(withIntent(added), "my-etcd-2"),
  },
  {
    order: ["identify-member", "recreate-learner"],
    so: "an intended member is identified before a second one gets an EtcdPeer",
    given: withBudget(withOrphan(withIntent(added))),
  },
  {
    order: ["recreate-learner", "withdraw-learner"],
    so: "every member has an EtcdPeer before one is withdrawn",
    given: withBudget(withOrphan(withArrival(settled, "my-etcd-3", "added"))),
  },
  {
    order: ["promote-learner", "give-up-learner"],
    so: "a late member that has caught up is not given up",
    given: withBudget(knownFor(withArrival(wanted5, "my-etcd-3", "synced"), LATER_ID, 700_000)),
  },
  {
    order: ["give-up-learner", "remove-member"],
    so: "the late learner is handled first, and one-at-a-time holds it back during a removal",
    given: withRemoval(knownFor(added, LATER_ID, 700_000), "my-etcd-1", "replacement"),
  },
  {
    order: ["await-learner", "replace-lost"],
    so: "no other work begins while a member joins",
    given: sickFor(
      withArrival(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-3", "added"),
      "my-etcd-1",
      300_000,
    ),
  },
  {
    order: ["disruption-budget", "stop-update"],
    so: "evictions are possible after the restart, whatever its outcome",
    given: { ...late, budget: withTurn(wanted, "my-etcd-2").budget },
  },
  {
    order: ["stop-update", "update-stopped"],
    so: "no second member gets a template with which the first one fails",
    given: withCrashing(
      withCrashing(silentFor(withCanary(noQuorum, "my-etcd-2"), "my-etcd-2", 600_000), "my-etcd-1"),
      "my-etcd-2",
    ),
  },
  {
    order: ["roll-back-member", "update-stopped"],
    so: "the first restarted member is rolled back first",
    given: withBudget(
      withStop(
        withCrashing(withCanary(withCrashing(withTurn(twoDown, "my-etcd-1"), "my-etcd-1"), "my-etcd-2"), "my-etcd-2"),
        "my-etcd-2",
      ),
    ),
  },
  {
    order: ["update-stopped", "restart-stopped"],
    so: "all members have their template before they start: they may need each other",
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
    so: "an unhealthy cluster is repaired first",
    given: withRunning(
      sickFor(withTurn(wanting(NEWER, { replicas: 5, down: ["my-etcd-1"] }), "my-etcd-2"), "my-etcd-1", 300_000),
      "my-etcd-1",
    ),
  },
  {
    order: ["restart-member", "scale-down"],
    so: "a pending restart ends before a removal",
    given: withTurn(wanting(NEWER, { spec: { replicas: 2 } }), "my-etcd-1"),
  },
  {
    order: ["restart-member", "scale-up"],
    so: "a pending restart ends before an addition",
    given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-1"),
  },
  {
    order: ["scale-up", "update-member"],
    so: "more members make the restarts safer",
    given: wanting(NEWER, { spec: { replicas: 5 } }),
  },
  {
    order: ["scale-down", "update-member"],
    so: "a member that is removed needs no restart",
    given: wanting(NEWER, { spec: { replicas: 2 } }),
  },
  {
    order: ["backup-first", "update-member"],
    so: "a backup starts before the wait for people",
    given: {
      ...withTurn(wanting(NEXT_MINOR, { spec: ON_DELETE }), "my-etcd-2", NEWER),
      schedules: [etcdBackupSchedule()],
    },
  },
  {
    order: ["update-member", "await-health"],
    so: "the message names the member that delays the update",
    given: wanting(NEWER, { down: ["my-etcd-1"] }),
  },
  {
    order: ["replace-lost", "scale-down"],
    so: "the claim of a lost member is kept, although fewer members are wanted",
    given: sickFor(cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
  },
];

const secure = secured();
const mixed = secured({}, { peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } });
const unknownYet = { is: "unknown", why: "no answer" } as const;
const { headlessService: names } = settled;
/** Certificates for clients exist; the peer certificate could not be read. */
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
/** The last member has restarted and is reached over TLS; etcd still lists its previous URL. */
const unlisted = listedBy(switching({}, ["both", "both", "reached"]), "http", ["my-etcd-2"]);

/** Removes the pod and the answer of my-etcd-1. */
function silent(snapshot: ClusterSnapshot): ClusterSnapshot {
  const others = ([name]: readonly [string, unknown]) => name !== "my-etcd-1";
  return {
    ...snapshot,
    pods: new Map([...snapshot.pods].filter(others)),
    endpoints: new Map([...snapshot.endpoints].filter(others)),
  };
}

/** A cluster that lacks this, and has yet to copy cert-manager's certificate to its client Secret. */
function handingOut(lacking: Partial<SeenCertificates>): ClusterSnapshot {
  const managed = secured({}, { client: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } });
  return { ...managed, certificates: { ...managed.certificates, handout: absent, ...lacking } };
}

const LATE_MS = secure.takenAtMs + 70 * 86_400_000;
pairs.push(
  {
    order: ["no-version-path", "certificate-expires", "renew-in-pause", "paused"],
    so: "certificates are reported and renewed during a pause",
    given: {
      ...secured({ spec: { version: "3.4.1" }, annotations: paused }),
      takenAtMs: LATE_MS,
    },
  },
  {
    order: ["headless-service", "network-policy"],
    so: "a NetworkPolicy comes after the names that it protects",
    given: cluster({ stage: "recorded", spec: { networkPolicy: { enabled: true } } }),
  },
  {
    order: ["network-policy", "await-network-policy"],
    so: "the NetworkPolicy is created before the wait for it",
    given: cluster({
      stage: "recorded",
      spec: { networkPolicy: { enabled: true } },
      with: { headlessService: settled.headlessService },
    }),
  },
  {
    order: ["network-policy", "await-network-policy", "bootstrap"],
    so: "no unwanted connection is ever possible",
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
    order: ["network-policy", "await-network-policy", "issue-ca"],
    so: "no certificate is issued for members that may not be created",
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
    order: ["issue-certificate", "publish-client-secret"],
    so: "certificates of members come before those of applications",
    given: handingOut({ peer: absent }),
  },
  {
    order: ["publish-client-secret", "trust-map"],
    so: "the published bundle includes the certificate of applications",
    given: handingOut({ trustMap: absent }),
  },
  {
    order: ["disarm-alarm", "root-secret"],
    so: "etcd serves no requests until the alarm is disarmed",
    given: withAlarms(guarded({ state: NO_USERS, secret: undefined }), corruptAndGone),
  },
  {
    order: ["switch-auth", "cancel-downgrade"],
    so: "authentication does not depend on the release",
    given: downgrading(guarded({ state: PREPARED }), ["my-etcd-0", "my-etcd-2"]),
  },
  {
    order: ["await-learner", "update-member-url"],
    so: "etcd's member list changes for one member at a time",
    given: withArrival(
      { ...unlisted, cluster: { ...unlisted.cluster, spec: { ...unlisted.cluster.spec, replicas: 5 } } },
      "my-etcd-3",
      "added",
    ),
  },
  {
    order: ["update-member-url", "replace-lost"],
    so: "a member may seem lost because its URL is wrong",
    given: sickFor(silent(unlisted), "my-etcd-1", 300_000),
  },
  {
    order: ["await-health", "switch-tls"],
    so: "an unreachable member is reported first",
    given: silent(switching({}, ["reached", "reached", "reached"])),
  },
  {
    order: ["headless-service", "issue-ca"],
    so: "names come before certificates for them",
    given: { ...unissued({ stage: "recorded" }) },
  },
  {
    order: ["issue-ca", "issue-certificate"],
    so: "the signing CA comes first",
    given: withSeen(secure, { peerCA: absent, server: absent }),
  },
  {
    order: ["issue-ca", "bootstrap"],
    so: "members trust the CA from their first start",
    given: unissued({ stage: "recorded", with: { headlessService: settled.headlessService } }),
  },
  {
    order: ["certificate-request", "issue-certificate"],
    so: "requests to other issuers come first",
    given: (() => {
      const mixed = secured({}, { peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } });
      return withSeen(
        { ...mixed, certificates: { ...mixed.certificates, requests: { peer: absent } } },
        { server: absent },
      );
    })(),
  },
  {
    order: ["issue-certificate", "trust-map"],
    so: "the bundle includes the new certificate",
    given: { ...secure, certificates: { ...secure.certificates, application: absent, trustMap: absent } },
  },
  {
    order: ["issue-certificate", "recreate-peer"],
    so: "a member starts with its certificate",
    given: withSeen(withoutPeers(secure, "my-etcd-1"), { peer: absent }),
  },
  {
    order: ["issue-certificate", "await-quorum"],
    so: "members with rejected certificates have no quorum",
    given: withSeen(secured({ down: ["my-etcd-1", "my-etcd-2"] }), { peer: absent }),
  },
  {
    order: ["issue-ca", "certificate-request"],
    so: "the operator's own certificates come before requests",
    given: withSeen(
      { ...mixed, certificates: { ...mixed.certificates, requests: { peer: absent } } },
      { clientCA: absent },
    ),
  },
  {
    order: ["trust-map", "await-certificates"],
    so: "clients may get the bundle before members exist",
    given: { ...unread, certificates: { ...unread.certificates, trustMap: absent } },
  },
  {
    order: ["await-certificates", "bootstrap"],
    so: "members are created with their certificates, or not at all",
    given: { ...unread, certificates: { ...unread.certificates, trustMap: unknownYet } },
  },
  {
    order: ["enable-downgrade", "rotate-ca"],
    so: "a requested downgrade is not delayed",
    given: rotatingToo({ ...secure, cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...BEFORE } } }),
  },
  {
    order: ["rotate-ca", "backup-first"],
    so: "the update after the backup includes both",
    given: rotatingToo({
      ...secure,
      schedules: [etcdBackupSchedule()],
      cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...NEXT_MINOR } },
    }),
  },
  {
    order: ["scale-up", "rotate-ca"],
    so: "the rotation starts in a complete cluster",
    given: rotatingToo(secured({ spec: { replicas: 5 } })),
  },
  {
    order: ["rotate-ca", "update-member"],
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
