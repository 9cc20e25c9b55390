import { isStale, withHash } from "#api/applied-hash.ts";
import {
  BACKUP_LABEL,
  CLIENT_PORT,
  clusterLabels,
  MANAGED_BY_LABEL,
  METRICS_PORT,
  memberSelector,
  NAME_LABEL,
  networkPolicyName,
  OPERATOR,
  PEER_PORT,
} from "#api/names.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { fingerprint, isSameData } from "#base/hash.ts";
import { defined } from "#base/json.ts";
import { ownedBy } from "#cluster/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { apiVersionOf, type Draft, NETWORK_POLICIES, type NetworkPolicy } from "#kube/kinds.ts";

type Ingress = NonNullable<NonNullable<NetworkPolicy["spec"]>["ingress"]>[number];
type From = NonNullable<Ingress["from"]>[number];
type Access = NonNullable<EtcdClusterSpec["networkPolicy"]>["clients"];
type Peer = NonNullable<Access["from"]>[number];

/** Kubernetes gives every namespace a label with its name. */
const NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name";

const EVERY_POD_HERE: readonly Peer[] = [{ podSelector: {} }];

/** Whether the spec asks for a NetworkPolicy. */
export function isPolicyWanted({ cluster }: Pick<ClusterSnapshot, "cluster">): boolean {
  return cluster.spec.networkPolicy?.enabled === true;
}

/**
 * Admits the members themselves, the operator, its backups, and the clients named in the spec. Egress is not limited,
 * and probes of the kubelet are always admitted.
 */
export function networkPolicy(snapshot: ClusterSnapshot): Draft<NetworkPolicy> {
  const { cluster, operatorNamespace } = snapshot;
  const { namespace, name } = cluster.metadata;
  const { clients, metrics } = cluster.spec.networkPolicy ?? {};
  const members: From = { podSelector: { matchLabels: memberSelector(name) } };
  const operator: From = {
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: operatorNamespace } },
    podSelector: { matchLabels: { [NAME_LABEL]: OPERATOR } },
  };
  // Backup pods of any EtcdBackup: one may name this cluster by its endpoints.
  const agents: From = {
    podSelector: {
      matchLabels: { [MANAGED_BY_LABEL]: OPERATOR },
      matchExpressions: [{ key: BACKUP_LABEL, operator: "Exists" }],
    },
  };
  return withHash<NetworkPolicy>({
    apiVersion: apiVersionOf(NETWORK_POLICIES),
    kind: NETWORK_POLICIES.kind,
    metadata: {
      namespace,
      name: networkPolicyName(name),
      labels: clusterLabels(name),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: {
      podSelector: { matchLabels: memberSelector(name) },
      policyTypes: ["Ingress"],
      ingress: [
        // Client port too: people use etcdctl in a member's container to query the others.
        letIn([members], PEER_PORT, CLIENT_PORT),
        letIn([operator, agents, ...admitted(clients)], CLIENT_PORT),
        letIn([operator, ...admitted(metrics)], METRICS_PORT),
      ],
    },
  });
}

/** Peers that the spec admits to a port. None when the spec does not name a policy. */
function admitted(access: Access | undefined): readonly From[] {
  const peers = access?.policy === "Namespace" ? EVERY_POD_HERE : (access?.from ?? []);
  return peers.map(asStored);
}

/**
 * A peer as the API server stores it: without empty lists and maps. An empty selector selects everything, so it stays.
 */
function asStored({ podSelector, namespaceSelector, ipBlock }: Peer): From {
  return defined({
    podSelector: podSelector && selector(podSelector),
    namespaceSelector: namespaceSelector && selector(namespaceSelector),
    ipBlock: ipBlock && withoutEmpty(ipBlock),
  });
}

function selector({ matchLabels, matchExpressions }: NonNullable<Peer["podSelector"]>): object {
  return withoutEmpty({ matchLabels, matchExpressions: matchExpressions?.map(withoutEmpty) });
}

function withoutEmpty(object: object): Record<string, unknown> {
  return Object.fromEntries(
    // Strings have keys too.
    Object.entries(object).filter(([, each]) => each !== undefined && Object.keys(each).length > 0),
  );
}

/** @param from one or more: an empty list would admit all clients */
function letIn(from: From[], ...ports: readonly number[]): Ingress {
  return { from, ports: ports.map((port) => ({ protocol: "TCP", port })) };
}

/** Whether the live policy has to be written: the desired one has changed, or another client changed its spec. */
export function policyDiffers(live: NetworkPolicy, wanted: Draft<NetworkPolicy>): boolean {
  return isStale(live, wanted) || fingerprint(live.spec) !== fingerprint(wanted.spec);
}

/** Whether the live policy was written as desired and still admits all of that, whatever other clients have added. */
export function policyHolds(live: NetworkPolicy, wanted: Draft<NetworkPolicy>): boolean {
  const { podSelector, policyTypes = [], ingress = [] } = live.spec ?? {};
  const isAbout = isSameData(podSelector, wanted.spec?.podSelector) && policyTypes.includes("Ingress");
  const lets = (rule: Ingress) => ingress.some((each) => has(each.from, rule.from) && has(each.ports, rule.ports));
  return isAbout && !isStale(live, wanted) && (wanted.spec?.ingress ?? []).every(lets);
}

function has(all: readonly object[] = [], some: readonly object[] = []): boolean {
  return some.every((wanted) => all.some((each) => isSameData(each, wanted)));
}
