import { describe, expect, test } from "vitest";
import type { Unmanaged } from "#api/v1beta1/cluster.ts";
import { authStatus } from "#cluster/conditions/auth-ready.ts";
import { ready } from "#cluster/conditions/ready.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { guarded } from "#kit/cluster-auth.ts";
import { secured } from "#kit/cluster-tls.ts";
import { unmanagedOf, unmanagedText } from "./unmanaged.ts";

// What people have made with etcdctl, and how it is told.

const NOBODY = { users: new Map<string, string>(), roles: new Set<string>() };
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `u${String(n).padStart(2, "0")}`);
const users = (...names: string[]): Unmanaged => ({ users: { count: names.length, names } });
const told = (...names: string[]) => unmanagedOf({}, "op", NOBODY, { users: names, roles: [] });

describe("what no object names in etcd", () => {
  test.each<[string, Unmanaged, Unmanaged]>([
    ["is nothing where there is only the operator's", told("root", "etcd-cluster-operator", "op"), {}],
    ["is whom somebody has made, sorted", told("bob", "ann"), users("ann", "bob")],
    [
      "is not what objects name, or the operator has on record; a role root is etcd's own",
      unmanagedOf(
        { status: { auth: { enabled: true, operators: ["next"] } } as never },
        undefined,
        { users: new Map([["shop", "a"]]), roles: new Set(["reader"]) },
        { users: ["next", "shop", "reader"], roles: ["root", "reader", "shop", "next", "etcd-cluster-operator"] },
      ),
      { ...users("reader"), roles: { count: 3, names: ["etcd-cluster-operator", "next", "shop"] } },
    ],
    ["is told by ten names", told(...numbered(10)), users(...numbered(10))],
    ["is counted beyond", told(...numbered(11)), { users: { count: 11, names: numbered(10) } }],
    ["is told to 64 characters", told("a".repeat(64)), users("a".repeat(64))],
    ["is cut behind them", told("a".repeat(65)), users(`${"a".repeat(64)}…`)],
    ["is never half of what stands for a character", told(`${"a".repeat(60)}\u001b`), users(`${"a".repeat(60)}…`)],
    ["is a whole one that just fits", told(`${"a".repeat(58)}\u001b`), users(`${"a".repeat(58)}\\u{1b}`)],
    [
      "steers nobody's terminal, and is no other text than it seems",
      told("\u001b[2J", "a\nb", 'a", "b', "a\\b", "\u202egnp", "\u2028", "\u2029", "é 😀"),
      users(
        "\\u{1b}[2J",
        "a\\u{a}b",
        "a\\u{22}, \\u{22}b",
        "a\\u{5c}b",
        "é 😀",
        "\\u{2028}",
        "\\u{2029}",
        "\\u{202e}gnp",
      ),
    ],
  ])("%s", (_, given, expected) => {
    expect(given).toStrictEqual(expected);
  });

  test.each<[Unmanaged, string | undefined]>([
    [{}, undefined],
    [users("ann"), 'etcd has 1 user that no EtcdUser names: "ann"; they are left alone'],
    [
      { users: { count: 11, names: ["ann", "bob"] }, roles: { count: 1, names: ["reader"] } },
      'etcd has 11 users that no EtcdUser names: "ann", "bob", and 9 more, and 1 role that no EtcdRole names: "reader"; they are left alone',
    ],
    [
      { roles: { count: 2, names: ["a", "b"] } },
      'etcd has 2 roles that no EtcdRole names: "a", "b"; they are left alone',
    ],
  ])("is put in words: %j", (given, text) => {
    expect(unmanagedText(given)).toBe(text);
  });
});

describe("a person hears of it", () => {
  const because = 'etcd has 1 user that no EtcdUser names: "ann"; they are left alone';
  const remarked = [{ rule: "unmanaged-names", because, is: "remark" }];
  test.each<[string, ClusterSnapshot, object[] | undefined, Unmanaged | undefined]>([
    ["when it is seen", guarded({ unmanaged: users("ann") }), remarked, users("ann")],
    ["when it is more than before", guarded({ unmanaged: users("ann"), toldUnmanaged: users("bob") }), remarked, users("ann")],
    ["no more when the status says it", guarded({ unmanaged: users("ann"), toldUnmanaged: users("ann") }), undefined, users("ann")],
    ["of nothing", guarded({ unmanaged: {} }), undefined, undefined],
    ["not by an event when nothing is left", guarded({ unmanaged: {}, toldUnmanaged: users("ann") }), undefined, undefined],
    ["what was said last, while etcd does not tell", guarded({ toldUnmanaged: users("ann") }), undefined, users("ann")],
    ["nothing of a cluster without users", secured(), undefined, undefined],
  ])("%s", (_, snapshot, aside, status) => {
    const plan = planCluster(snapshot);
    expect(plan.aside).toEqual(aside);
    expect(authStatus(snapshot).auth?.unmanaged).toEqual(status);
  });

  test("and nothing hinders the cluster", () => {
    const snapshot = guarded({ unmanaged: users("ann") });
    const own = [] as never[];
    const before = guarded();
    const judged = (of: ClusterSnapshot) => ready({ snapshot: of, plan: planCluster(of), members: own, own });
    expect(judged(snapshot)).toEqual(judged(before));
  });
}); // biome-ignore format: a table
