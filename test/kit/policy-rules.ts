import type { NetworkPolicy } from "#kube/kinds.ts";

// What a NetworkPolicy means, as rules of nftables: https://kubernetes.io/docs/concepts/services-networking/network-policies/
//   A pod that some policy selects for what comes in gets only what one of them lets in; every other pod gets everything. Answers pass. What its
//   node sends comes in, and so do the kubelet's probes: that is never forwarded here.
// What does it not know? What goes out, protocols but TCP, and names of ports: whoever asks for these is told so, and nothing is enforced.

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
  /** Labels of namespaces, by their names. */
  readonly namespaces: ReadonlyMap<string, Labels>;
}

/** After the rules that lead from a Service to a pod, so that the pod is seen. */
const PRIORITY = 20;

/** Commands for nft that put these rules, and no others, into a table. @throws Error when a policy asks for what is not known here */
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
  if (spec?.policyTypes?.join() !== "Ingress") throw new Error("only what comes in is known here");
  return (spec.ingress ?? []).flatMap((rule) => {
    const ports = portsOf(rule);
    return sourcesOf(rule, namespace, world).map((from) => `${from}${ports}accept`);
  });
}

function portsOf({ ports }: Ingress): string {
  if (ports === undefined || ports.length === 0) return "";
  const numbers = ports.map(({ protocol = "TCP", port, endPort }) => {
    if (protocol !== "TCP" || typeof port !== "number" || endPort !== undefined)
      throw new Error("only single ports of TCP by their numbers are known here");
    return port;
  });
  return `tcp dport { ${numbers.join(", ")} } `;
}

/** Whoever is let in, as the beginnings of rules; none when nobody is there who would be. */
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
          throw new Error(`${operator} is not known here`);
      }
    })
  );
}
