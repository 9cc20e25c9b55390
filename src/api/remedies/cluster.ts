import type { PeerReason, Reason } from "#api/conditions.ts";
import { type Care, passing, remedy, SHARED } from "./remedy.ts";

const SPEC_REFUSED = remedy(
  "Members keep running as they are.",
  "Correct the field that the message names, or revert the edit.",
);

const CLAIM_TAKEN = remedy(
  "The claim stays untouched, and the member waits.",
  "Create the EtcdCluster under the name and namespace that the data belongs to. Delete the claim only if its data is worthless.",
  "troubleshooting.md#claims-that-were-copied",
);

/** Remedies for reasons of EtcdClusters. */
export const CLUSTER_REMEDIES: Readonly<Record<Reason, Care>> = {
  AllMembersHealthy: "well",
  Forming: remedy(
    "The first members start and form the cluster.",
    "Nothing. After minutes, read Progressing: it quotes the pod that does not start.",
    "troubleshooting.md#a-member-that-does-not-start",
  ),
  MembersMissing: passing("Members are added one at a time, as learners first."),
  MembersUnhealthy: remedy(
    "The pods are restarted by Kubernetes. A lost member is replaced after --replace-after while the others have a quorum.",
    "Read the message and `kubectl describe etcdpeer`. Repair its node, network or volume.",
    "troubleshooting.md#a-member-that-stays-down",
  ),
  PodsNotReady: remedy(
    "Clients use the other members.",
    "Wait a few seconds. After that, `kubectl describe pod` shows the failing probe, often that of a sidecar.",
  ),
  QuorumAvailable: "well",
  QuorumLost: remedy(
    "The cluster recovers when a majority returns with its data. The operator replaces no member until then.",
    "Bring the named members' nodes or volumes back. If they are gone for good, restore a backup.",
    "troubleshooting.md#a-cluster-that-is-lost",
  ),
  MembersUnreachable: remedy(
    "The operator changes no data, and asks again.",
    "Open ports 2379 and 2381 of the members to the operator's pods: check NetworkPolicies and DNS.",
  ),
  CorruptionAlarm: remedy(
    "A member that etcd names is replaced from the healthy ones. Without a name nothing is removed.",
    "If no member is named: save each member's data, and compare. Remove a member only if a majority agrees; otherwise restore.",
    "troubleshooting.md#data-that-differs",
  ),
  NoSpaceAlarm: remedy(
    "Reads continue. The alarm stays, also when room is free again.",
    "Compact, defragment one member after another, and disarm the alarm.",
    "troubleshooting.md#a-database-that-is-full",
  ),
  BackedUp: "well",
  BackupMissing: remedy(
    "The next run of the schedule makes a backup.",
    "Read the schedule's conditions and the failed EtcdBackup. To have one now, create an EtcdBackup.",
    "backup.md",
  ),
  NoBackupDue: remedy(
    "The first backup is made when it is due. A suspended schedule makes none.",
    "To have a backup now, create an EtcdBackup. To end a suspension, set suspend of the EtcdBackupSchedule to false.",
    "backup.md",
  ),
  BackupPending: passing("The backup runs; the upgrade begins when it is stored."),
  BackupFailed: remedy(
    "No member is upgraded.",
    "Correct what the message names, and delete the failed EtcdBackup. With a waiver of BackupFirst there is no backup to go back to.",
    "change.md#update-and-upgrade",
  ),
  NoSchedule: remedy("No backups are made.", "Create an EtcdBackupSchedule that names the cluster.", "backup.md"),
  Settled: "well",
  Acting: passing("The change is made."),
  Scaling: passing("Members are added or removed, one at a time, while a quorum is kept."),
  Replacing: passing("The member gets a new volume and its data from the others. The old claim is quarantined."),
  Asleep: remedy(
    "Claims and identity stay.",
    "To wake the cluster, set spec.replicas to 1 or more.",
    "change.md#sleep",
  ),
  FallingAsleep: passing("Members are stopped."),
  ClaimLost: remedy(
    "The cluster stays asleep, and its other claims are kept.",
    "Bring the named claims or their labels back. With a majority of them, waking works; otherwise restore a backup.",
    "troubleshooting.md#a-cluster-that-is-lost",
  ),
  Waking: passing("The same members start again."),
  Paused: remedy(
    "The operator reports, and renews certificates. It heals nothing.",
    "When the work is done, set spec.paused to false and remove the annotation.",
    "change.md#pause",
  ),
  NoEditWaits: "well",
  NotPaused: "well",
  ClientServiceSilent: remedy(
    "The operator tries a connection again.",
    "If it stays: open port 2379 of the client Service to the operator, and check kube-proxy.",
  ),
  Rolling: passing("Members restart one at a time, the leader last."),
  UpdateStopped: remedy(
    "The first member was rolled back; the others were not touched.",
    "Read the member's last output in the message, and correct the spec. Only an edit that changes members' pods or settings starts it again.",
    "troubleshooting.md#an-update-that-has-stopped",
  ),
  UpToDate: "well",
  WaitsForDeletion: remedy(
    "A member gets the new template when its pod is deleted.",
    "Delete the pod of one named member. Wait until all members are healthy before you delete the next.",
    "change.md#update-and-upgrade",
  ),
  NoVersionPath: remedy(
    "Members keep their release.",
    "Set spec.version to the release that the message names, and go one minor release at a time.",
    "change.md#update-and-upgrade",
  ),
  Restoring: passing("Claims are filled from the snapshot; then the members start."),
  RestoreFailed: remedy(
    "No member starts.",
    "Correct the cause. With spec.bootstrap: delete the EtcdRestore. Otherwise: delete the EtcdCluster, and create a new EtcdRestore. Delete no quarantined claims.",
    "troubleshooting.md#a-restore-that-has-failed",
  ),
  SpecRefused: SPEC_REFUSED,
  Monitored: "well",
  MonitorsNotServed: remedy(
    "The PodMonitor is created once its kind exists.",
    "Install the Prometheus operator, or set spec.monitoring.podMonitor.enabled to false.",
  ),
  NotMonitored: "well",
  CertificatesValid: "well",
  TLSDisabled: "well",
  CertificatesPending: passing("The certificate is issued; members that need it wait."),
  CertificatesChanging: remedy(
    "Members change one at a time, in rounds. Clients stay connected.",
    "Nothing. `waitsFor` in status.tls states what a round waits for.",
    "tls.md#see-where-a-change-is",
  ),
  CertificateMissing: remedy(
    "Members with the old certificate keep running.",
    'Create the Secret with tls.crt, tls.key and ca.crt, and the label etcd.improbable.io/tls: "true".',
    "tls.md#choose-the-issuer",
  ),
  CertificateInvalid: remedy(
    "Members keep their working certificates.",
    "Replace the content of the named Secret by a certificate that fits.",
    "troubleshooting.md#a-certificate-that-has-expired",
  ),
  SecretNotAllowed: remedy(
    "Members that use the Secret already keep it.",
    "Label the Secret with the command in the message.",
    "tls.md#choose-the-issuer",
  ),
  RightMissing: remedy(
    "The operator continues within a minute after the right is granted.",
    "Run the command in the message as an administrator of the namespace.",
    "install.md#secrets-of-some-namespaces-only",
  ),
  CertificateEnding: remedy(
    "The operator retries the renewal.",
    "Remove what prevents it: a pause, a missing right, a failing issuer, or a Secret that you renew.",
    "troubleshooting.md#a-certificate-that-has-expired",
  ),
  CertificateExpired: remedy(
    "With provider Operator it is renewed once the operator can write the Secret.",
    "With CertManager, repair the issuer. With Secret, write a new certificate of the same CA.",
    "troubleshooting.md#a-certificate-that-has-expired",
  ),
  IssuerFailed: remedy(
    "cert-manager retries at growing intervals.",
    "`kubectl describe certificate` and `certificaterequest` show the cause. Correct the issuer or its policy.",
  ),
  AuthEnabled: "well",
  AuthDisabled: "well",
  AuthPending: passing("The operator creates its user and root, then enables or disables authentication."),
  AuthUnasked: remedy(
    "Authentication stays enabled.",
    "Set spec.auth.enabled to true. With false, every client that can connect may read and write everything.",
    "users.md#enable-authentication",
  ),
  ClientCertificatesRequired: remedy(
    "Authentication is not enabled.",
    "First give all clients certificates: etcd refuses them without. Then set spec.tls.client.clientCertificates to Required, with a provider.",
    "users.md#enable-authentication",
  ),
  OperatorUserInvalid: remedy(
    "Authentication is not enabled.",
    "Issue the operator's certificate with a common name such as etcd-cluster-operator.",
  ),
  OperatorUserTaken: remedy(
    "The user stays as it is.",
    "Issue the operator a certificate with another common name. Delete that user only if no application logs in with it.",
    "limits.md#users-and-roles",
  ),
  RootWithoutPassword: remedy(
    "Authentication stays enabled, and root keeps no password.",
    "Set spec.auth.enabled to false; every client that can connect then has full access. When AuthReady has AuthDisabled, set it to true.",
    "users.md#enable-authentication",
  ),
  RootSecretInvalid: remedy(
    "The password in etcd stays.",
    "Correct or label the Secret as the message states. Delete it only if nothing else uses it: the operator makes a new one.",
  ),
  NotAdministrator: remedy(
    "Members run; the operator can change no membership and no users.",
    "As root, run the two etcdctl commands of the message.",
    "limits.md#users-and-roles",
  ),
  AuthUnknown: remedy("The operator asks again.", "Read the message: usually no member answers, see Available."),
  OtherClusterAnswered: remedy(
    "The operator ignores the answers, and never counts that member.",
    "Find what answers at the member's name: a copied claim, a reused address, or a second cluster.",
    "troubleshooting.md#claims-that-were-copied",
  ),
  SameCluster: "well",
  FullStrength: "well",
  NotStalled: "well",
  Waiting: SHARED.Waiting,
  StepRefused: SHARED.StepRefused,
  NameTaken: SHARED.NameTaken,
  ClaimTaken: CLAIM_TAKEN,
  InternalError: SHARED.InternalError,
  ObjectTooLarge: SHARED.ObjectTooLarge,
  Deleting: passing("Members are deleted; the claims stay."),
};

/** Remedies for reasons of EtcdPeers. */
export const PEER_REMEDIES: Readonly<Record<PeerReason, Care>> = {
  MemberHealthy: "well",
  MemberUnreachable: remedy(
    "Kubernetes restarts the pod when its liveness probe fails. A lost member is replaced.",
    "Read the message and the pod's log. Check the network between the operator and the member.",
    "troubleshooting.md#a-member-that-stays-down",
  ),
  PodPending: remedy(
    SHARED.PodPending.itself,
    "Read the message: give the pod a node, its volume or an image. `kubectl describe pod` shows more.",
    "troubleshooting.md#a-member-that-does-not-start",
  ),
  Asleep: remedy("The claim stays.", "To wake the cluster, set spec.replicas to 1 or more.", "change.md#sleep"),
  ClaimLost: remedy(
    "The member is replaced after ten seconds, while the others have a quorum.",
    "Nothing while the others have a quorum. Without one, bring the claim back or restore a backup.",
    "troubleshooting.md#a-cluster-that-is-lost",
  ),
  Waiting: SHARED.Waiting,
  StepRefused: SHARED.StepRefused,
  NameTaken: SHARED.NameTaken,
  ClaimTaken: CLAIM_TAKEN,
  InternalError: SHARED.InternalError,
  ObjectTooLarge: SHARED.ObjectTooLarge,
  Deleting: passing("The pod ends; the claim is kept or deleted as the member's removal requires."),
};
