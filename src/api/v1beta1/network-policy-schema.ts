import { z } from "zod";

const MAX_PEERS = 32;

const labelSelector = (whose: string) =>
  z.looseObject({}).describe(`Label selector for ${whose}, as in a NetworkPolicy; {} selects all.`);

/** One entry of `from` of a NetworkPolicy. https://kubernetes.io/docs/concepts/services-networking/network-policies/ */
const peer = z
  .object({
    podSelector: labelSelector("pods: of the namespace, or of those that namespaceSelector selects").optional(),
    namespaceSelector: labelSelector("namespaces").optional(),
    ipBlock: z
      .object({
        cidr: z.string().min(1).max(64).describe("Such as 192.0.2.0/24 or 2001:db8::/64."),
        except: z.array(z.string().min(1).max(64)).max(MAX_PEERS).optional().describe("What of it is left out."),
      })
      .optional()
      .describe("Addresses, such as of clients outside of the Kubernetes cluster."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)",
        message: "it must have either ipBlock, or podSelector, namespaceSelector or both",
      },
    ],
  });

/** `spec.networkPolicy` of an EtcdCluster. */
export const networkPolicySchema = z
  .object({
    enabled: z
      .boolean()
      .default(false)
      .describe("Whether there is a NetworkPolicy. Where the network has no engine for them, it changes nothing."),
    clients: z
      .array(peer)
      .max(MAX_PEERS)
      .optional()
      .describe(
        "Who may reach the client port (2379), beside the members, the operator and its backups. Without it every pod of the namespace; with none nobody else.",
      ),
    metrics: z
      .array(peer)
      .max(MAX_PEERS)
      .optional()
      .describe("Who may reach the metrics port (2381), beside the operator. Without it nobody else."),
  })
  .describe("The NetworkPolicy NAME, which says who may reach the members. An edit is carried out at once.");
