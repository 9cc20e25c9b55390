import { z } from "zod";
import { ATOMIC } from "#api/common-schema.ts";

const MAX_PEERS = 32;

const MAX_PARTS = 32;
const MAX_VALUES = 64;
const MAX_KEY_LENGTH = 317;
const MAX_VALUE_LENGTH = 63;

// Why does the schema keep unknown fields?
//   Otherwise the API server drops them, silently without strict validation, and a selector without its terms selects
//   everything. The webhook and the operator refuse unknown fields that are kept (src/api/network-peers.ts).

const expression = z
  .looseObject({
    key: z.string().min(1).max(MAX_KEY_LENGTH).describe("Key of the label."),
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]).describe("Relation between the label and the values."),
    values: z
      .array(z.string().max(MAX_VALUE_LENGTH))
      .meta(ATOMIC)
      .max(MAX_VALUES)
      .optional()
      .describe("With In and NotIn: values of the label, one or more."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
        message: "it must have values with In and NotIn, and none with Exists and DoesNotExist",
      },
    ],
  });

const labelSelector = (what: string) =>
  z
    .looseObject({
      matchLabels: z
        .record(z.string(), z.string().max(MAX_VALUE_LENGTH))
        .meta({ maxProperties: MAX_PARTS })
        .optional()
        .describe("Labels that it must have."),
      matchExpressions: z
        .array(expression)
        .max(MAX_PARTS)
        .meta(ATOMIC)
        .optional()
        .describe("Further conditions on its labels."),
    })
    .describe(`Label selector for ${what}, as in a NetworkPolicy; {} selects all.`);

const cidr = z.string().min(1).max(64).meta({ format: "cidr" });

/** Entry of `from` of a NetworkPolicy. https://kubernetes.io/docs/concepts/services-networking/network-policies/ */
const peer = z
  .looseObject({
    podSelector: labelSelector("pods: of the namespace, or of those that namespaceSelector selects").optional(),
    namespaceSelector: labelSelector("namespaces").optional(),
    ipBlock: z
      .looseObject({
        cidr: cidr.describe("Such as 192.0.2.0/24 or 2001:db8::/64."),
        except: z.array(cidr).max(MAX_PEERS).meta(ATOMIC).optional().describe("Ranges within cidr that are left out."),
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

/** Peers that may reach a port. @param others peers that may always reach it */
const access = (port: string, others: string) =>
  z
    .looseObject({
      policy: z
        .enum(["Namespace", "Listed"])
        .describe("Namespace: every pod of the namespace. Listed: the peers in `from`; without `from`, none."),
      from: z.array(peer).max(MAX_PEERS).meta(ATOMIC).optional().describe("With Listed: peers, as in a NetworkPolicy."),
    })
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "self.policy == 'Listed' || !has(self.from) || self.from.size() == 0",
          message: "from is given, and policy is Namespace; give from only with policy Listed",
        },
      ],
    })
    .describe(`Peers that may reach the ${port}, in addition to ${others}.`);

/** `spec.networkPolicy` of an EtcdCluster. */
export const networkPolicySchema = z
  .looseObject({
    enabled: z
      .boolean()
      .describe(
        "Whether there is a NetworkPolicy. It has no effect in a network that does not enforce NetworkPolicies.",
      ),
    clients: access("client port (2379)", "the members, the operator and its backups"),
    metrics: access("metrics port (2381)", "the operator").default({ policy: "Listed" }),
  })
  .describe("The NetworkPolicy NAME, which limits access to the members. An edit takes effect at once.");
