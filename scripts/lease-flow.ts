import { OPERATOR } from "#api/names.ts";
import { CLUSTER_LEASE_NAMESPACE, LEASE_PERMISSIONS } from "../src/bin/permissions.ts";
import { LABELS, type Manifest, OPERATOR_NAMESPACE } from "./own.ts";

// The API server has what one account asks wait in one line, and what reads the state of thousands of clusters takes all places of it for seconds.
// A lease that waits behind that is a lost lease, and then everything is read anew. So leases have a line of their own, as those of Kubernetes' own
// controllers do. https://kubernetes.io/docs/concepts/cluster-administration/flow-control/

/** The level at which Kubernetes' own controllers renew their leases; every API server makes it. */
const LEVEL = "leader-election";
/** After those of Kubernetes itself for leases (100 and 200), and before all that catch every account (from 900 on): the lowest that fits is asked. */
const PRECEDENCE = 300;

/** What tells the API server that the leases by which the operator leads come before all else that it asks. */
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
          // What it may do with the lease of an installation; with those of shards it may do less.
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
