import type { NetworkPolicy } from "#kube/kinds.ts";

// NetworkPolicies as nftables rules: https://kubernetes.io/docs/concepts/services-networking/network-policies/
//
// A pod that an ingress policy selects receives only what one of these policies allows. Every other pod receives
// everything. Replies pass. Traffic from the pod's own node, with the kubelet's probes, is not forwarded and so not
// filtered.
//
// Not supported: egress, protocols other than TCP, and named ports. A policy that uses them causes an error, and
// nothing is enforced.

type Spec = NonNullable<NetworkPolicy["spec"]>;
type Ingress = NonNullable<Spec["ingress"]>[number];
type From = NonNullable<Ingress["from"]>[number];
type Selector = Spec["podSelector"];
type Labels = Readonly<Record<string, string>>;

/** A pod with an address of its own. */
export interface AddressedPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly address: string;
}

export interface World {
  readonly pods: readonly AddressedPod[];
  /** Labels of namespaces, by name. */
  readonly namespaces: ReadonlyMap<string, Labels>;
}

/** After the rules that route from a Service to a pod, so that the pod's address is visible. */
const PRIORITY = 20;

/**
 * Commands for nft that replace a table with these rules.
 * @throws Error when a policy uses a feature that is not supported here
 */
export function policyRules(table: string, policies: readonly NetworkPolicy[], world: World): string {
  const jumps: string[] = [];
  const chains: string[] = [];
  for (const pod of world.pods) {
    const about = policies.filter(({ metadata, spec }) => metadata.namespace === pod.namespace && selects(spec?.podSelector, pod.labels)); // biome-ignore format: one line
    if (about.length === 0) continue;
    const chain = `to-${chains.length}`;
    jumps.push(`    ip daddr ${pod.address} jump ${chain}`);
    const accepted = about.flatMap((policy) => acceptedBy(policy, world));
    chains.push([`  chain ${chain} {`, ...accepted.map((each) => `    ${each}`), "    counter drop", "  }"].join("\n"));
  }
  return `table ip ${table}
delete table ip ${table}
table ip ${table} {
${chains.join("\n")}
  chain forward {
    type filter hook forward priority ${PRIORITY};
    ct state established,related accept
${jumps.join("\n")}
  }
}
`;
}

function acceptedBy({ metadata: { namespace = "" }, spec }: NetworkPolicy, world: World): readonly string[] {
  if (spec?.policyTypes?.join() !== "Ingress") throw new Error("only ingress policies are supported here");
  return (spec.ingress ?? []).flatMap((rule) => {
    const ports = portsOf(rule);
    return sourcesOf(rule, namespace, world).map((from) => `${from}${ports}accept`);
  });
}

function portsOf({ ports }: Ingress): string {
  if (ports === undefined || ports.length === 0) return "";
  const numbers = ports.map(({ protocol = "TCP", port, endPort }) => {
    if (protocol !== "TCP" || typeof port !== "number" || endPort !== undefined)
      throw new Error("only single TCP ports given by number are supported here");
    return port;
  });
  return `tcp dport { ${numbers.join(", ")} } `;
}

/** The start of one rule for each allowed source; none when no pod matches. */
function sourcesOf({ from }: Ingress, namespace: string, { pods, namespaces }: World): readonly string[] {
  if (from === undefined || from.length === 0) return [""];
  const isMeant = ({ podSelector, namespaceSelector }: From, pod: AddressedPod) =>
    (namespaceSelector === undefined
      ? pod.namespace === namespace
      : selects(namespaceSelector, namespaces.get(pod.namespace) ?? {})) && selects(podSelector ?? {}, pod.labels);
  const selectors = from.filter(({ ipBlock }) => ipBlock === undefined);
  const addresses = pods.filter((pod) => selectors.some((each) => isMeant(each, pod))).map(({ address }) => address);
  const blocks = from.flatMap(({ ipBlock }) => ipBlock ?? []).map(({ cidr, except = [] }) => `ip saddr ${cidr} ${except.length === 0 ? "" : `ip saddr != { ${except.join(", ")} } `}`); // biome-ignore format: one line
  return [...(addresses.length === 0 ? [] : [`ip saddr { ${addresses.sort().join(", ")} } `]), ...blocks];
}

function selects(selector: Selector | undefined, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
        default:
          throw new Error(`operator ${operator} is not supported here`);
      }
    })
  );
}
