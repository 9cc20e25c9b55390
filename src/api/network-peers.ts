import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

// Why are unknown fields refused here, although the schema keeps them?
//   Kubernetes drops unknown fields of a NetworkPolicy, and a selector without its terms selects everything. With the
//   misspelt `matchlabels` every pod would have access. So the CRD's schema keeps unknown fields, this check refuses
//   them, and no NetworkPolicy is created.
// Why not ipaddr.js, or Node's BlockList?
//   ipaddr.js accepts addresses that Kubernetes refuses, such as 010.0.0.1. BlockList cannot compare two ranges.

type NetworkPolicySpec = NonNullable<EtcdClusterSpec["networkPolicy"]>;
type Peer = NonNullable<NetworkPolicySpec["clients"]["from"]>[number];
type Selector = NonNullable<Peer["podSelector"]>;
type Expression = NonNullable<Selector["matchExpressions"]>[number];
type Block = NonNullable<Peer["ipBlock"]>;

/** Defect of one field. */
export interface PeerDefect {
  readonly field: string;
  /** States the value, and which values are valid. */
  readonly message: string;
}

const FIELD = "spec.networkPolicy";
/** Syntax of labels: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ */
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const LABEL_KEY =
  /^(?=[^/]{1,253}\/|[^/]+$)([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Why no valid NetworkPolicy can be created from the spec. @param policy must have the right shape */
export function whyNotNetworkPolicy(policy: NetworkPolicySpec | undefined): readonly PeerDefect[] {
  if (policy === undefined) return [];
  return [
    ...unknownIn(policy, ["enabled", "clients", "metrics"], FIELD),
    ...(["clients", "metrics"] as const).flatMap((port) => [
      ...unknownIn(policy[port] ?? {}, ["policy", "from"], `${FIELD}.${port}`),
      ...(policy[port]?.from ?? []).flatMap((peer, n) => whyNotPeer(peer, `${FIELD}.${port}.from[${n}]`)),
    ]),
  ];
}

function whyNotPeer(peer: Peer, path: string): readonly PeerDefect[] {
  const { ipBlock, podSelector, namespaceSelector } = peer;
  const selectors = Object.entries({ podSelector, namespaceSelector });
  const isOne = (ipBlock === undefined) !== selectors.every(([, each]) => each === undefined);
  const must = "it must have either ipBlock, or podSelector, namespaceSelector or both";
  return [
    ...unknownIn(peer, ["podSelector", "namespaceSelector", "ipBlock"], path),
    ...(isOne ? [] : [{ field: path, message: must }]),
    ...selectors.flatMap(([name, each]) => (each === undefined ? [] : whyNotSelector(each, `${path}.${name}`))),
    ...(ipBlock === undefined ? [] : whyNotBlock(ipBlock, `${path}.ipBlock`)),
  ];
}

function whyNotSelector(selector: Selector, path: string): readonly PeerDefect[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return [
    ...unknownIn(selector, ["matchLabels", "matchExpressions"], path),
    ...Object.entries(matchLabels).flatMap(([key, value]) => [
      ...whyNotKey(key, `${path}.matchLabels`),
      ...whyNotValue(value, `${path}.matchLabels[${key}]`),
    ]),
    ...matchExpressions.flatMap((each, n) => whyNotExpression(each, `${path}.matchExpressions[${n}]`)),
  ];
}

function whyNotExpression(expression: Expression, path: string): readonly PeerDefect[] {
  const { key, operator, values = [] } = expression;
  const hasValues = operator === "In" || operator === "NotIn";
  const must = hasValues ? "at least one with" : "none with";
  return [
    ...unknownIn(expression, ["key", "operator", "values"], path),
    ...whyNotKey(key, `${path}.key`),
    ...(hasValues === values.length > 0
      ? []
      : [{ field: `${path}.values`, message: `it has ${values.length} values; it must have ${must} ${operator}` }]),
    ...values.flatMap((value, n) => whyNotValue(value, `${path}.values[${n}]`)),
  ];
}

function whyNotBlock(block: Block, path: string): readonly PeerDefect[] {
  const { cidr, except = [] } = block;
  const whole = rangeOf(cidr);
  const must = "it must be a CIDR, such as 192.0.2.0/24 or 2001:db8::/64";
  return [
    ...unknownIn(block, ["cidr", "except"], path),
    ...(whole === undefined ? [{ field: `${path}.cidr`, message: `it is ${cidr}; ${must}` }] : []),
    ...except.flatMap((each, n) => {
      const field = `${path}.except[${n}]`;
      const part = rangeOf(each);
      if (part === undefined) return [{ field, message: `it is ${each}; ${must}` }];
      if (whole === undefined || isPart(part, whole)) return [];
      return [{ field, message: `it is ${each}; it must be a part of ${cidr}, and not all of it` }];
    }),
  ];
}

function unknownIn(given: object, known: readonly string[], path: string): readonly PeerDefect[] {
  return Object.keys(given)
    .filter((key) => !known.includes(key))
    .map((key) => ({ field: `${path}.${key}`, message: `this field is unknown; it must be ${known.join(" or ")}` }));
}

function whyNotKey(key: string, field: string): readonly PeerDefect[] {
  if (LABEL_KEY.test(key)) return [];
  return [{ field, message: `it has the key ${key}; it must be that of a label, such as app.kubernetes.io/name` }];
}

function whyNotValue(value: string, field: string): readonly PeerDefect[] {
  if (LABEL_VALUE.test(value)) return [];
  return [
    { field, message: `it is ${value}; it must be the value of a label: up to 63 letters, digits, "-", "_", "."` },
  ];
}

/** Address range: the common leading bits of its addresses, as text. */
interface Range {
  readonly family: "IPv4" | "IPv6";
  readonly prefix: string;
}

const IPV4 = /^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(?!$)|$)){4}$/;

/** @returns undefined when it is not a CIDR */
function rangeOf(cidr: string): Range | undefined {
  const [, address = "", length = ""] = /^([0-9A-Fa-f:.]+)\/(0|[1-9][0-9]{0,2})$/.exec(cidr) ?? [];
  const bits = IPV4.test(address) ? bitsOf(address.split("."), 10, 8) : ipv6Bits(address);
  if (bits === undefined || Number(length) > bits.length) return undefined;
  return { family: bits.length === 32 ? "IPv4" : "IPv6", prefix: bits.slice(0, Number(length)) };
}

function ipv6Bits(address: string): string | undefined {
  const url = `http://[${address}]`;
  if (!URL.canParse(url)) return undefined;
  const [head = [], tail = []] = new URL(url).hostname
    .slice(1, -1)
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return bitsOf([...head, ...zeros, ...tail], 16, 16);
}

function bitsOf(numbers: readonly string[], base: number, width: number): string {
  return numbers.map((each) => Number.parseInt(each, base).toString(2).padStart(width, "0")).join("");
}

function isPart(part: Range, whole: Range): boolean {
  return (
    part.family === whole.family && part.prefix.length > whole.prefix.length && part.prefix.startsWith(whole.prefix)
  );
}
