import { describe, expect, test } from "vitest";
import { RESTRICTED } from "#kit/snapshots/cluster-network.ts";
import { whyNotNetworkPolicy } from "./network-peers.ts";

/** The defects of a peer: the field, relative to the list's item, and the message. */
function defectsOf(peer: object, list: "clients" | "metrics" = "clients"): readonly string[] {
  const defects = whyNotNetworkPolicy({ ...RESTRICTED, [list]: { policy: "Listed", from: [peer] } });
  return defects.map(({ field, message }) => `${field.replace(`spec.networkPolicy.${list}.from[0]`, "")}: ${message}`);
}

const long = (length: number) => "a".repeat(length);
const expression = (given: object) => ({ podSelector: { matchExpressions: [{ key: "a", ...given }] } });
const block = (cidr: string, ...except: string[]) => ({ ipBlock: { cidr, except } });

const good: Record<string, object> = {
  "all pods": { podSelector: {} },
  "all namespaces": { namespaceSelector: {} },
  both: { podSelector: { matchLabels: { app: "b" } }, namespaceSelector: { matchLabels: { "a.b-c.d/e_f.G": "" } } },
  "empty parts": { podSelector: { matchLabels: {}, matchExpressions: [] } },
  "a key and a value of maximum length": {
    podSelector: { matchLabels: { [`${long(253)}/${long(63)}`]: long(63), a: "A-_.9" } },
  },
  "a value in a list": expression({ operator: "In", values: ["a", "b"] }),
  "a value outside a list": expression({ operator: "NotIn", values: ["a"] }),
  "a label that exists": expression({ operator: "Exists" }),
  "a label that does not exist": expression({ operator: "DoesNotExist", values: [] }),
  "all IPv4 addresses": block("0.0.0.0/0", "10.0.0.0/8", "255.255.255.255/32"),
  "all IPv6 addresses": block("::/0", "2001:db8::/32", "::1/128"),
  "an exception in another notation": block("2001:DB8::/32", "2001:0db8:0:1::/64"),
  "a network with a prefix length that is no multiple of 8": block("192.0.2.0/25", "192.0.2.64/26"),
  "an address with its prefix length": block("192.0.2.7/24"),
};

test.each(Object.entries(good))("%s is a valid peer", (_, peer) => {
  expect(defectsOf(peer)).toEqual([]);
  expect(defectsOf(peer, "metrics")).toEqual([]);
});

test("an absent NetworkPolicy or one without peers is accepted", () => {
  expect(whyNotNetworkPolicy(undefined)).toEqual([]);
  expect(whyNotNetworkPolicy(RESTRICTED)).toEqual([]);
});

const CIDR = "it must be a CIDR, such as 192.0.2.0/24 or 2001:db8::/64";
const ONE = ": it must have either ipBlock, or podSelector, namespaceSelector or both";
const KNOWN = "this field is unknown; it must be";
const KEY = "it must be that of a label, such as app.kubernetes.io/name";
const VALUE = 'it must be the value of a label: up to 63 letters, digits, "-", "_", "."';

const wrong: [what: string, peer: object, ...says: string[]][] = [
  ["neither addresses nor pods", {}, ONE],
  ["addresses and pods at once", { ...block("192.0.2.0/24"), podSelector: {} }, ONE],
  ["addresses and namespaces at once", { ...block("192.0.2.0/24"), namespaceSelector: {} }, ONE],
  [
    "misspelt labels",
    { namespaceSelector: { matchlabels: { team: "a" } } },
    `.namespaceSelector.matchlabels: ${KNOWN} matchLabels or matchExpressions`,
  ],
  [
    "a misspelt selector",
    { namespaceSelector: {}, podselector: {} },
    `.podselector: ${KNOWN} podSelector or namespaceSelector or ipBlock`,
  ],
  [
    "misspelt exceptions",
    { ipBlock: { cidr: "192.0.2.0/24", Except: [] } },
    `.ipBlock.Except: ${KNOWN} cidr or except`,
  ],
  [
    "an expression with an unknown field",
    expression({ operator: "Exists", value: "b" }),
    `.podSelector.matchExpressions[0].value: ${KNOWN} key or operator or values`,
  ],
  [
    "In without values",
    expression({ operator: "In" }),
    ".podSelector.matchExpressions[0].values: it has 0 values; it must have at least one with In",
  ],
  [
    "NotIn without values",
    expression({ operator: "NotIn", values: [] }),
    ".podSelector.matchExpressions[0].values: it has 0 values; it must have at least one with NotIn",
  ],
  [
    "Exists with values",
    expression({ operator: "Exists", values: ["b"] }),
    ".podSelector.matchExpressions[0].values: it has 1 values; it must have none with Exists",
  ],
  [
    "DoesNotExist with values",
    expression({ operator: "DoesNotExist", values: ["b"] }),
    ".podSelector.matchExpressions[0].values: it has 1 values; it must have none with DoesNotExist",
  ],
  [
    "an invalid key",
    expression({ operator: "Exists", key: "a b" }),
    `.podSelector.matchExpressions[0].key: it has the key a b; ${KEY}`,
  ],
  [
    "an invalid value",
    expression({ operator: "In", values: ["a", "b c"] }),
    `.podSelector.matchExpressions[0].values[1]: it is b c; ${VALUE}`,
  ],
  ["an address without a prefix length", block("192.0.2.0"), `.ipBlock.cidr: it is 192.0.2.0; ${CIDR}`],
  ["exceptions of an invalid CIDR", block("a/8", "10.0.0.0/8"), `.ipBlock.cidr: it is a/8; ${CIDR}`],
  ["an exception that is not a CIDR", block("10.0.0.0/8", "10.1.0.0"), `.ipBlock.except[0]: it is 10.1.0.0; ${CIDR}`],
];

test.each<[what: string, peer: object, ...says: string[]]>(wrong)("a peer with %s is refused", (_, peer, ...says) => {
  expect(defectsOf(peer)).toEqual(says);
});

test("a NetworkPolicy with a misspelt list of peers is refused", () => {
  expect(whyNotNetworkPolicy({ ...RESTRICTED, client: {} })).toEqual([
    { field: "spec.networkPolicy.client", message: `${KNOWN} enabled or clients or metrics` },
  ]);
  expect(whyNotNetworkPolicy({ ...RESTRICTED, metrics: { policy: "Listed", form: [] } })).toEqual([
    { field: "spec.networkPolicy.metrics.form", message: `${KNOWN} policy or from` },
  ]);
});

describe("a NetworkPolicy is refused for", () => {
  test.each(["", "-a", "a-", "/a", "a/", "A/b", "a/b/c", "-a/b", "a-/b", "a..b/c", long(64), `${long(254)}/a`])(
    "the key %s",
    (key) => expect(defectsOf({ podSelector: { matchLabels: { [key]: "" } } })).toHaveLength(1),
  );
  test.each(["-a", "a-", "a b", "a/b", "ä", long(64)])("the value %s", (value) =>
    expect(defectsOf({ podSelector: { matchLabels: { a: value } } })).toEqual([
      `.podSelector.matchLabels[a]: it is ${value}; ${VALUE}`,
    ]),
  );
  test.each(
    "10.0.0.0/33 10.0.0.0/08 10.0.0.0/ /8 10.0.0/8 10.0.0.0.0/8 10.0.0.256/8 10.0.0.0./8 010.0.0.0/8 ::/129 :::/64 1::2::3/64 12345::/64 fe80::1%a/64 /".split(
      " ",
    ),
  )("the CIDR %s", (cidr) => expect(defectsOf(block(cidr))).toEqual([`.ipBlock.cidr: it is ${cidr}; ${CIDR}`]));
  test.each([
    ["another network", "10.0.0.0/8", "11.0.0.0/16"],
    ["the whole network", "10.0.0.0/8", "10.0.0.0/8"],
    ["more than the whole network", "10.0.0.0/8", "10.0.0.0/7"],
    ["a network of the other address family", "::/0", "10.0.0.0/8"],
    ["the neighbouring network", "192.0.2.0/25", "192.0.2.128/26"],
  ])("%s as the exception of a CIDR", (_, cidr, except) =>
    expect(defectsOf(block(cidr, except))).toEqual([
      `.ipBlock.except[0]: it is ${except}; it must be a part of ${cidr}, and not all of it`,
    ]),
  );
});
