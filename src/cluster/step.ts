import { draftText } from "#api/applied-hash.ts";
import type { Removal } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { ClusterIdentity, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import { fingerprint } from "#base/hash.ts";
import type { RootSecret } from "#cluster/auth/seen.ts";
import type { Phase } from "#cluster-tls/change/ca-rotation.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type {
  Certificate,
  ConfigMap,
  Draft,
  NetworkPolicy,
  Pod,
  PodDisruptionBudget,
  PodMonitor,
  Service,
} from "#kube/kinds.ts";
import type { Guard, Rule } from "#runtime/decide.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "./snapshot.ts";

/** All steps of this controller: one write each. */
export type ClusterStep =
  /** Written into the spec of a cluster without spec.tls. */
  | { readonly do: "writeTls"; readonly tls: NonNullable<EtcdClusterSpec["tls"]> }
  | { readonly do: "recordIdentity"; readonly identity: ClusterIdentity }
  | { readonly do: "recordJoined"; readonly names: readonly string[] }
  /** The EtcdRestore that fills the cluster's claims. */
  | { readonly do: "createRestore"; readonly restore: Draft<EtcdRestore> }
  | { readonly do: "fallAsleep" }
  | { readonly do: "wakeUp" }
  | { readonly do: "createService"; readonly service: Draft<Service> }
  | { readonly do: "replaceService"; readonly live: Service; readonly service: Draft<Service> }
  | { readonly do: "createBudget"; readonly budget: Draft<PodDisruptionBudget> }
  | { readonly do: "replaceBudget"; readonly live: PodDisruptionBudget; readonly budget: Draft<PodDisruptionBudget> }
  | { readonly do: "deleteBudget"; readonly live: PodDisruptionBudget }
  | { readonly do: "createNetworkPolicy"; readonly policy: Draft<NetworkPolicy> }
  | { readonly do: "replaceNetworkPolicy"; readonly live: NetworkPolicy; readonly policy: Draft<NetworkPolicy> }
  | { readonly do: "deleteNetworkPolicy"; readonly live: NetworkPolicy }
  | { readonly do: "createMonitor"; readonly monitor: Draft<PodMonitor> }
  | { readonly do: "replaceMonitor"; readonly live: PodMonitor; readonly monitor: Draft<PodMonitor> }
  | { readonly do: "deleteMonitor"; readonly live: PodMonitor }
  | CertificateStep
  | AuthStep
  | { readonly do: "createPeer"; readonly peer: Draft<EtcdPeer> }
  | { readonly do: "replacePeer"; readonly live: EtcdPeer; readonly peer: Draft<EtcdPeer> }
  | { readonly do: "markRemoval"; readonly peer: EtcdPeer; readonly removal: Removal | undefined }
  | { readonly do: "releaseClaim"; readonly peer: EtcdPeer; readonly finalizer: string }
  | { readonly do: "deletePeer"; readonly peer: EtcdPeer }
  | { readonly do: "createBackup"; readonly backup: Draft<EtcdBackup> }
  | { readonly do: "restartPod"; readonly name: string; readonly pod: Pod }
  | { readonly do: "stopUpdate"; readonly name: string; readonly message: string }
  | { readonly do: "addLearner"; readonly name: string; readonly peerUrl: string }
  | { readonly do: "promote"; readonly name: string; readonly id: MemberId }
  | { readonly do: "updateMember"; readonly name: string; readonly id: MemberId; readonly peerUrl: string }
  | { readonly do: "removeMember"; readonly name: string; readonly id: MemberId }
  | { readonly do: "disarmAlarm"; readonly id: MemberId; readonly type: "CORRUPT" | "NOSPACE" }
  /** The minor release, such as 3.5, to which etcd's own downgrade leads. */
  | { readonly do: "enableDowngrade"; readonly to: string }
  | { readonly do: "cancelDowngrade"; readonly to: string }
  | { readonly do: "moveLeader"; readonly from: string; readonly to: string; readonly id: MemberId };

/** No step holds a private key: keys are made and read when the step is executed (cluster-tls/issue/act.ts). */
export type CertificateStep =
  /** @see Phase; trust holds the CAs to trust in addition, in PEM */
  | { readonly do: "issueAuthority"; readonly side: Side; readonly trust: string }
  | { readonly do: "rotateAuthority"; readonly side: Side; readonly phase: Phase; readonly facts: SeenCertificate }
  | {
      readonly do: "issueLeaf";
      readonly purpose: LeafPurpose;
      readonly authority: SeenCertificate;
      /** The current certificate; undefined when there is no Secret. */
      readonly facts: SeenCertificate | undefined;
    }
  | {
      readonly do: "spreadTrust";
      readonly purpose: LeafPurpose;
      readonly authority: SeenCertificate;
      readonly facts: SeenCertificate;
    }
  | {
      readonly do: "publishClientSecret";
      /** The certificate that is published to applications. */
      readonly source: SeenCertificate;
      readonly facts: SeenCertificate | undefined;
      /** CA bundle to publish, in PEM. */
      readonly trust: string;
    }
  | { readonly do: "createTrustMap"; readonly map: Draft<ConfigMap> }
  | { readonly do: "replaceTrustMap"; readonly live: ConfigMap; readonly map: Draft<ConfigMap> }
  | { readonly do: "createRequest"; readonly purpose: LeafPurpose; readonly request: Draft<Certificate> }
  | {
      readonly do: "replaceRequest";
      readonly purpose: LeafPurpose;
      readonly live: Certificate;
      readonly request: Draft<Certificate>;
    };

/**
 * No step holds a password. asRoot: with a certificate of the etcd user root, because the operator is no administrator
 * yet.
 */
export type AuthStep =
  | { readonly do: "createRootSecret" }
  | { readonly do: "setRootPassword"; readonly secret: RootSecret; readonly isNew: boolean }
  | { readonly do: "addUser"; readonly user: string; readonly asRoot: boolean }
  /** The role root. */
  | { readonly do: "grantRole"; readonly user: string; readonly asRoot: boolean }
  | { readonly do: "enableAuth" }
  | { readonly do: "disableAuth"; readonly asRoot: boolean };

export type ClusterRule = Rule<ClusterSnapshot, ClusterStep>;
export type ClusterGuard = Guard<ClusterSnapshot, ClusterStep>;

/**
 * Identifies what the step changes, and into what: two steps with the same text are two attempts at the same change.
 */
export function targetOf(step: ClusterStep): string {
  switch (step.do) {
    case "writeTls":
      return JSON.stringify(step.tls);
    case "recordIdentity":
      return step.identity.clusterID;
    case "recordJoined":
      return step.names.join(" ");
    case "createRestore":
      return step.restore.metadata.name;
    case "fallAsleep":
    case "wakeUp":
    case "createRootSecret":
    case "enableAuth":
    case "disableAuth":
      return "";
    case "setRootPassword":
      return step.secret.version;
    case "addUser":
    case "grantRole":
      return step.user;
    case "createService":
    case "replaceService":
      return draftText(step.service);
    case "createBudget":
    case "replaceBudget":
      return draftText(step.budget);
    case "createNetworkPolicy":
    case "replaceNetworkPolicy":
      return draftText(step.policy);
    case "deleteBudget":
    case "deleteNetworkPolicy":
    case "deleteMonitor":
      return step.live.metadata.uid;
    case "createMonitor":
    case "replaceMonitor":
      return draftText(step.monitor);
    case "issueAuthority":
      return step.side;
    case "rotateAuthority":
      return `${step.side} ${step.phase}`;
    case "issueLeaf":
    case "spreadTrust":
      return `${step.purpose} ${step.authority.fingerprint} ${step.authority.trustIds.join(" ")}`;
    case "publishClientSecret":
      return `${step.source.fingerprint} ${fingerprint(step.trust)}`;
    case "createTrustMap":
    case "replaceTrustMap":
      return draftText(step.map);
    case "createRequest":
    case "replaceRequest":
      return draftText(step.request);
    case "createPeer":
    case "replacePeer":
      return draftText(step.peer);
    case "markRemoval":
      return `${step.peer.metadata.name} ${step.removal}`;
    case "releaseClaim":
    case "deletePeer":
      return `${step.peer.metadata.name} ${step.peer.metadata.uid}`;
    case "restartPod":
      return step.pod.metadata.uid;
    case "createBackup":
      return step.backup.metadata.name;
    case "stopUpdate":
      return step.name;
    case "enableDowngrade":
    case "cancelDowngrade":
      return step.to;
    case "addLearner":
    case "updateMember":
      return step.peerUrl;
    case "promote":
    case "removeMember":
    case "moveLeader":
      return hexOf(step.id);
    case "disarmAlarm":
      return `${hexOf(step.id)} ${step.type}`;
  }
}
