import { expect, test } from "vitest";
import { PAUSED_ANNOTATION, ROTATE_CA_ANNOTATIONS } from "#api/names.ts";
import { absent } from "#base/observed.ts";
import { begin } from "#kit/snapshots/begin.ts";
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
import { RESTRICTED } from "#kit/snapshots/cluster-network.ts";
import {
  BEFORE,
  downgrading,
  NEWER,
  NEXT_MINOR,
  OLD,
  ON_DELETE,
  saying,
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
import { listedBy, secured, unissued, withMade, withSeen } from "#kit/snapshots/cluster-tls.ts";
import { etcdRestore } from "#kit/snapshots/etcd-restore.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { switching } from "#kit/snapshots/scheme-change.ts";
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
const late = begin(wanted).apply(withCanary, "my-etcd-2").apply(silentFor, "my-etcd-2", 600_000).snapshot;
const monitored = withMonitored(wanting(NEWER, { spec: { monitoring: { podMonitor: { enabled: true } } } }), "Waiting");
const lateAndMonitored = begin(monitored)
  .apply(withCanary, "my-etcd-2")
  .apply(silentFor, "my-etcd-2", 600_000).snapshot;

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
    so: "a full database and a refused version are reported also during a pause",
    given: withAlarms(cluster({ spec: { version: "3.4.1" }, annotations: paused }), full),
  },
  {
    order: ["paused", "refused-spec"],
    so: "a refused spec is not reported during a pause",
    given: cluster({ stage: "new", annotations: paused, spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }),
  },
  {
    order: ["refused-spec", "name-taken"],
    so: "a spec that cannot run is reported before anything is created from it",
    given: cluster({
      stage: "new",
      spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } },
      with: { headlessService: theirs },
    }),
  },
  {
    order: ["paused", "name-taken"],
    so: "a taken name is not reported during a pause",
    given: cluster({ stage: "new", annotations: paused, with: { headlessService: theirs } }),
  },
  {
    order: ["paused", "asleep"],
    so: "a paused cluster does not fall asleep",
    given: { ...asleep({ annotations: paused }) },
  },
  {
    order: ["asleep", "refused-spec"],
    so: "the spec of a sleeping cluster is not checked",
    given: withSleep(tired({ spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }), SLEEP),
  },
  {
    order: ["wake-up", "refused-spec"],
    so: "the wake-up is recorded even with a refused spec",
    given: withSleep(cluster({ spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }), SLEEP),
  },
  {
    order: ["wake-up", "await-wake-up"],
    so: "the wake-up is recorded before the operator waits for members",
    given: withSleep(cluster({ down: ["my-etcd-1"] }), SLEEP),
  },
  {
    order: ["fence", "start-sleep"],
    so: "members are fenced before they sleep, since they may lose their volume unnoticed",
    given: cluster({ stage: "joined", spec: { replicas: 0 } }),
  },
  {
    order: ["start-sleep", "headless-service"],
    so: "a sleeping cluster needs no headless Service",
    given: tired({ with: { headlessService: undefined } }),
  },
  {
    order: ["cancel-downgrade", "await-wake-up"],
    so: "an unwanted downgrade is cancelled before all members are awake",
    given: downgrading(woken({ down: ["my-etcd-1"] }), ["my-etcd-0", "my-etcd-2"]),
  },
  {
    order: ["await-wake-up", "delete-peer-of-removed"],
    so: "no member is removed before all sleeping members are back",
    given: withoutMember(woken({ down: ["my-etcd-1"] }), "my-etcd-2"),
  },
  {
    order: ["disruption-budget", "await-wake-up"],
    so: "the PodDisruptionBudget is created before the last member is awake",
    given: woken({ down: ["my-etcd-1"], with: { budget: undefined } }),
  },
  {
    order: ["name-taken", "adopt-claims"],
    so: "no identity is adopted before names that another owner has are free",
    given: cluster({ stage: "new", with: { headlessService: theirs, claims: kept } }),
  },
  {
    order: ["restore-failed", "claims-unclear"],
    so: "unfilled claims are explained by the failed restore",
    given: cluster({
      stage: "new",
      spec: { bootstrap: { fromBackup: { source: { backupName: "nightly" } } } },
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
    so: "an unfenced member could vote after it has lost its data",
    given: cluster({ stage: "joined", with: { headlessService: undefined } }),
  },
  {
    order: ["bootstrap", "recreate-peer"],
    so: "a first member that never started gets its EtcdPeer before a joined member",
    given: begin(cluster({ down: ["my-etcd-2"] }))
      .apply(withStraggler, { started: false })
      .apply(withoutPeers, "my-etcd-1", "my-etcd-2").snapshot,
  },
  {
    order: ["recreate-peer", "client-service"],
    so: "an EtcdPeer is recreated before the client Service",
    given: withoutPeers(cluster({ with: { clientService: undefined } }), "my-etcd-1"),
  },
  {
    order: ["client-service", "disruption-budget"],
    so: "the client Service is created before the PodDisruptionBudget",
    given: cluster({ with: { clientService: undefined, budget: undefined } }),
  },
  {
    order: ["disruption-budget", "pod-monitor"],
    so: "the PodDisruptionBudget is created before the PodMonitor",
    given: { ...monitoring(absent), budget: undefined },
  },
  {
    order: ["pod-monitor", "drop-previous-template"],
    so: "a previous template that is no longer needed can wait",
    given: hadBefore(monitoring(absent), "my-etcd-1"),
  },
  {
    order: ["drop-previous-template", "stop-update"],
    so: "a healthy member's previous template is dropped although another member's update fails",
    given: hadBefore(late, "my-etcd-0"),
  },
  {
    order: ["pod-monitor", "stop-update"],
    so: "the PodMonitor is created also while an update fails",
    given: { ...lateAndMonitored, podMonitor: absent },
  },
  {
    order: ["disruption-budget", "identify-member"],
    so: "the PodDisruptionBudget counts a new learner before its pod can be Ready",
    given: { ...withIntent(added), budget: wanted5.budget },
  },
  {
    order: ["disruption-budget", "recreate-learner"],
    so: "the PodDisruptionBudget counts a learner before its EtcdPeer is recreated",
    given: { ...withOrphan(wanted5), budget: wanted5.budget },
  },
  {
    order: ["await-quorum", "data-differs"],
    so: "without a quorum no member can be removed because its data differs",
    given: withAlarms(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), disputed),
  },
  {
    order: ["data-differs", "disarm-alarm"],
    so: "no alarm is disarmed while it is unknown which data is right",
    given: withAlarms(settled, corruptAndGone, disputed),
  },
  {
    order: ["disarm-alarm", "delete-peer-of-removed"],
    so: "etcd refuses requests until the alarm CORRUPT is disarmed",
    given: begin(settled).apply(withoutMember, "my-etcd-2").apply(withAlarms, corruptAndGone).snapshot,
  },
  {
    order: ["delete-peer-of-removed", "identify-member"],
    so: "the EtcdPeer of a removed member is deleted before a new member gets its ID",
    given: begin(added).apply(withIntent).apply(withoutMember, "my-etcd-2").snapshot,
  },
  {
    order: ["identify-member", "recreate-learner"],
    so: "the member of an intent gets its ID before another learner gets an EtcdPeer",
    given: begin(added).apply(withIntent).apply(withOrphan).apply(withBudget).snapshot,
  },
  {
    order: ["recreate-learner", "withdraw-learner"],
    so: "each learner has an EtcdPeer before a surplus learner is withdrawn",
    given: begin(settled).apply(withArrival, "my-etcd-3", "added").apply(withOrphan).apply(withBudget).snapshot,
  },
  {
    order: ["promote-learner", "give-up-learner"],
    so: "an overdue learner that has caught up is promoted",
    given: begin(wanted5).apply(withArrival, "my-etcd-3", "synced").apply(knownFor, LATER_ID, 700_000).apply(withBudget)
      .snapshot,
  },
  {
    order: ["give-up-learner", "remove-member"],
    so: "an overdue learner is given up before a recorded removal continues",
    given: begin(added).apply(knownFor, LATER_ID, 700_000).apply(withRemoval, "my-etcd-1", "replacement").snapshot,
  },
  {
    order: ["await-learner", "replace-lost"],
    so: "no lost member is replaced while a learner is joining",
    given: begin(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }))
      .apply(withArrival, "my-etcd-3", "added")
      .apply(sickFor, "my-etcd-1", 300_000).snapshot,
  },
  {
    order: ["disruption-budget", "stop-update"],
    so: "the PodDisruptionBudget allows evictions again after the restart, even of a failed canary",
    given: { ...late, budget: withTurn(wanted, "my-etcd-2").budget },
  },
  {
    order: ["stop-update", "update-stopped"],
    so: "the update stops before a second member gets the template with which the canary fails",
    given: begin(noQuorum)
      .apply(withCanary, "my-etcd-2")
      .apply(silentFor, "my-etcd-2", 600_000)
      .apply(withCrashing, "my-etcd-1")
      .apply(withCrashing, "my-etcd-2").snapshot,
  },
  {
    order: ["roll-back-member", "update-stopped"],
    so: "the canary is rolled back before other members get another template",
    given: begin(twoDown)
      .apply(withTurn, "my-etcd-1")
      .apply(withCrashing, "my-etcd-1")
      .apply(withCanary, "my-etcd-2")
      .apply(withCrashing, "my-etcd-2")
      .apply(withStop, "my-etcd-2")
      .apply(withBudget).snapshot,
  },
  {
    order: ["update-stopped", "restart-stopped"],
    so: "all crashing members get their template before one of them restarts",
    given: begin(twoDown).apply(withCrashing, "my-etcd-1").apply(withCrashing, "my-etcd-2").apply(withTurn, "my-etcd-1")
      .snapshot,
  },
  {
    order: ["restart-stopped", "await-members"],
    so: "a first member that crashes is restarted with a corrected template while the cluster forms",
    given: begin(cluster({ stage: "starting", spec: NEWER }))
      .apply(withRunning, "my-etcd-0", "my-etcd-2")
      .apply(withCrashing, "my-etcd-1")
      .apply(withTurn, "my-etcd-1").snapshot,
  },
  {
    order: ["replace-lost", "restart-member"],
    so: "a lost member is replaced before a pending restart",
    given: begin(wanting(NEWER, { replicas: 5, down: ["my-etcd-1"] }))
      .apply(withTurn, "my-etcd-2")
      .apply(sickFor, "my-etcd-1", 300_000)
      .apply(withRunning, "my-etcd-1").snapshot,
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
    so: "members are added before an update, since more members make restarts safer",
    given: wanting(NEWER, { spec: { replicas: 5 } }),
  },
  {
    order: ["scale-down", "update-member"],
    so: "surplus members are removed before an update",
    given: wanting(NEWER, { spec: { replicas: 2 } }),
  },
  {
    order: ["backup-first", "update-member"],
    so: "the backup before an upgrade starts before the wait for people to restart members",
    given: {
      ...withTurn(wanting(NEXT_MINOR, { spec: ON_DELETE }), "my-etcd-2", NEWER),
      schedules: [etcdBackupSchedule()],
    },
  },
  {
    order: ["update-member", "await-health"],
    so: "the message of the update names the unhealthy member that delays it",
    given: wanting(NEWER, { down: ["my-etcd-1"] }),
  },
  {
    order: ["replace-lost", "scale-down"],
    so: "a lost member is replaced, which keeps its claim, although spec.replicas asks for fewer members",
    given: sickFor(cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
  },
];

const secure = secured();
const mixed = secured({}, { peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } });
const unknownYet = { is: "unknown", why: "no answer" } as const;
const { headlessService: names } = settled;
/** Certificates for clients exist; the peer certificate could not be read. */
const unread = begin(unissued({ stage: "recorded", with: { headlessService: names } }))
  .apply(withMade, {
    peerCA: {},
    clientCA: {},
    server: {},
    operator: {},
    application: {},
  })
  .apply(withSeen, { peer: unknownYet }).snapshot;
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
  return { ...managed, certificates: { ...managed.certificates, clientSecret: absent, ...lacking } };
}

const LATE_MS = secure.takenAtMs + 70 * 86_400_000;
pairs.push(
  {
    order: ["no-version-path", "certificate-expires", "renew-in-pause", "paused"],
    so: "expiring certificates are reported and renewed during a pause",
    given: {
      ...secured({ spec: { version: "3.4.1" }, annotations: paused }),
      takenAtMs: LATE_MS,
    },
  },
  {
    order: ["headless-service", "network-policy"],
    so: "the headless Service is created before the NetworkPolicy",
    given: cluster({ stage: "recorded", spec: { networkPolicy: RESTRICTED } }),
  },
  {
    order: ["network-policy", "await-network-policy"],
    so: "the NetworkPolicy is created before the wait for it",
    given: cluster({
      stage: "recorded",
      spec: { networkPolicy: RESTRICTED },
      with: { headlessService: settled.headlessService },
    }),
  },
  {
    order: ["network-policy", "await-network-policy", "bootstrap"],
    so: "no member is created while the NetworkPolicy has another owner",
    given: cluster({
      stage: "recorded",
      spec: { networkPolicy: RESTRICTED },
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
      spec: { networkPolicy: RESTRICTED },
      with: {
        headlessService: settled.headlessService,
        networkPolicy: { ...theirs, kind: "NetworkPolicy", apiVersion: "networking.k8s.io/v1" } as NetworkPolicy,
      },
    }),
  },
  {
    order: ["issue-certificate", "publish-client-secret"],
    so: "certificates of members are issued before the client Secret is published",
    given: handingOut({ peer: absent }),
  },
  {
    order: ["publish-client-secret", "trust-map"],
    so: "the client Secret is published before the ConfigMap with the CA bundle",
    given: handingOut({ trustMap: absent }),
  },
  {
    order: ["disarm-alarm", "root-secret"],
    so: "etcd refuses requests until the alarm CORRUPT is disarmed",
    given: withAlarms(guarded({ state: NO_USERS, secret: undefined }), corruptAndGone),
  },
  {
    order: ["switch-auth", "cancel-downgrade"],
    so: "authentication is switched on before a downgrade is cancelled",
    given: downgrading(guarded({ state: PREPARED }), ["my-etcd-0", "my-etcd-2"]),
  },
  {
    order: ["move-leader-to-newest", "await-learner"],
    so: "a joining member gets no raft entries of etcd 3.5 from a leader of 3.6",
    given: begin(wanting(NEXT_MINOR, { spec: { replicas: 4 } }))
      .apply(saying, "my-etcd-2", { version: "3.7.1" })
      .apply(withArrival, "my-etcd-3", "added").snapshot,
  },
  {
    order: ["await-learner", "update-member-url"],
    so: "a peer URL is not updated while a learner is joining",
    given: withArrival(
      { ...unlisted, cluster: { ...unlisted.cluster, spec: { ...unlisted.cluster.spec, replicas: 5 } } },
      "my-etcd-3",
      "added",
    ),
  },
  {
    order: ["update-member-url", "replace-lost"],
    so: "an outdated peer URL is updated before a member is replaced that seems lost because of it",
    given: begin(unlisted).apply(silent).apply(sickFor, "my-etcd-1", 300_000).snapshot,
  },
  {
    order: ["await-health", "switch-tls"],
    so: "an unreachable member is reported before a switch to TLS continues",
    given: silent(switching({}, ["reached", "reached", "reached"])),
  },
  {
    order: ["headless-service", "issue-ca"],
    so: "the headless Service is created before certificates for its names",
    given: { ...unissued({ stage: "recorded" }) },
  },
  {
    order: ["issue-ca", "issue-certificate"],
    so: "a CA is created before the certificates that it signs",
    given: withSeen(secure, { peerCA: absent, server: absent }),
  },
  {
    order: ["issue-ca", "bootstrap"],
    so: "the CA is created before the first members start",
    given: unissued({ stage: "recorded", with: { headlessService: settled.headlessService } }),
  },
  {
    order: ["certificate-request", "issue-certificate"],
    so: "certificates are requested from other issuers before the operator issues its own",
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
    so: "a certificate is issued before the ConfigMap with the CA bundle is written",
    given: { ...secure, certificates: { ...secure.certificates, application: absent, trustMap: absent } },
  },
  {
    order: ["issue-certificate", "recreate-peer"],
    so: "a missing certificate is issued before an EtcdPeer is recreated",
    given: begin(secure).apply(withoutPeers, "my-etcd-1").apply(withSeen, { peer: absent }).snapshot,
  },
  {
    order: ["issue-certificate", "await-quorum"],
    so: "missing certificates are issued without a quorum, since they may be its cause",
    given: withSeen(secured({ down: ["my-etcd-1", "my-etcd-2"] }), { peer: absent }),
  },
  {
    order: ["issue-ca", "certificate-request"],
    so: "the operator's own CA is created before certificates are requested from other issuers",
    given: withSeen(
      { ...mixed, certificates: { ...mixed.certificates, requests: { peer: absent } } },
      { clientCA: absent },
    ),
  },
  {
    order: ["trust-map", "await-certificates"],
    so: "the ConfigMap with the CA bundle is written although another certificate could not be read",
    given: { ...unread, certificates: { ...unread.certificates, trustMap: absent } },
  },
  {
    order: ["await-certificates", "bootstrap"],
    so: "no member is created before its certificates were read",
    given: { ...unread, certificates: { ...unread.certificates, trustMap: unknownYet } },
  },
  {
    order: ["enable-downgrade", "rotate-ca"],
    so: "a requested downgrade is enabled before a CA rotation begins",
    given: rotatingToo({ ...secure, cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...BEFORE } } }),
  },
  {
    order: ["rotate-ca", "backup-first"],
    so: "a CA rotation begins before the backup, so that one update covers both",
    given: rotatingToo({
      ...secure,
      schedules: [etcdBackupSchedule()],
      cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...NEXT_MINOR } },
    }),
  },
  {
    order: ["scale-up", "rotate-ca"],
    so: "members are added before a CA rotation begins",
    given: rotatingToo(secured({ spec: { replicas: 5 } })),
  },
  {
    order: ["rotate-ca", "update-member"],
    so: "a CA rotation begins before an update, so that members restart once for both",
    given: rotatingToo({ ...secure, cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, ...NEWER } } }),
  },
);

function rotatingToo(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { metadata } = snapshot.cluster;
  const annotations = { ...metadata.annotations, [ROTATE_CA_ANNOTATIONS.peer]: "1" };
  return { ...snapshot, cluster: { ...snapshot.cluster, metadata: { ...metadata, annotations } } };
}

for (const { order, so, given } of pairs) {
  test(`cluster order: ${order.join(" comes before ")}: ${so}`, () => {
    const having = CLUSTER_RULES.filter((rule) => rule.decide(given) !== undefined).map(({ name }) => name);
    expect(having.filter((name) => order.includes(name))).toEqual(order);
    const spoken = speakers(planCluster(given));
    expect(spoken).toEqual(order.slice(0, spoken.length));
  });
}
