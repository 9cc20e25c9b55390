import { OPERATOR } from "#api/names.ts";
import { CLUSTER_LEASE_NAMESPACE, LEASE_PERMISSIONS } from "../src/bin/permissions.ts";
import { LABELS, type Manifest, OPERATOR_NAMESPACE } from "./own.ts";

// Why a FlowSchema for leases?
//   The API server queues all requests of one account together. Requests that read the state of thousands of clusters
//   fill the queue for seconds. A lease renewal that waits behind them is too late: the operator loses its lease, and
//   reads everything again. So leases have a queue of their own, as those of Kubernetes' own controllers.
//   https://kubernetes.io/docs/concepts/cluster-administration/flow-control/

/** Priority level for lease renewals of Kubernetes' own controllers, which every API server has. */
const LEVEL = "leader-election";
/**
 * Precedence of the FlowSchema: after Kubernetes' own for leases (100 and 200), and before those for every account
 * (from 900 on). The matching schema with the lowest value applies.
 */
const PRECEDENCE = 300;

/** FlowSchema by which renewals of the operator's leases do not wait behind its other requests. */
export function leaseFlow(): Manifest {
  return {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "FlowSchema",
    metadata: { name: `${OPERATOR}-leases`, labels: LABELS } as Manifest["metadata"],
    spec: {
      priorityLevelConfiguration: { name: LEVEL },
      matchingPrecedence: PRECEDENCE,
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [{ kind: "ServiceAccount", serviceAccount: { name: OPERATOR, namespace: OPERATOR_NAMESPACE } }],
          // Rights to the lease of an installation, which include those to leases of shards.
          resourceRules: LEASE_PERMISSIONS.map(({ apiGroups, resources, verbs }) => ({
            apiGroups,
            resources,
            namespaces: [OPERATOR_NAMESPACE, CLUSTER_LEASE_NAMESPACE],
            verbs,
          })),
        },
      ],
    },
  };
}
