import { describe, expect, test } from "vitest";
import type { Unmanaged } from "#api/v1beta1/cluster.ts";
import { planCluster } from "#cluster/plan.ts";
import { ready } from "#cluster/readiness/ready.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { guarded } from "#kit/snapshots/cluster-auth.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { authStatus } from "./auth-ready.ts";
import { unmanagedOf, unmanagedText } from "./unmanaged.ts";

// Users and roles that people created with etcdctl, and their report.

const NO_NAMES = { users: new Map<string, string>(), roles: new Set<string>() };
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `u${String(n).padStart(2, "0")}`);
const users = (...names: string[]): Unmanaged => ({ users: { count: names.length, names } });
const told = (...names: string[]) => unmanagedOf({}, "op", NO_NAMES, { users: names, roles: [] });

describe("users and roles of etcd without an object", () => {
  test.each<[string, Unmanaged, Unmanaged]>([
    ["are none when etcd has only the operator's", told("root", "etcd-cluster-operator", "op"), {}],
    ["are sorted", told("bob", "ann"), users("ann", "bob")],
    [
      "exclude those of objects and recorded operators; the role root is etcd's own",
      unmanagedOf(
        { status: { auth: { enabled: true, operators: ["next"] } } as never },
        undefined,
        { users: new Map([["shop", "a"]]), roles: new Set(["reader"]) },
        { users: ["next", "shop", "reader"], roles: ["root", "reader", "shop", "next", "etcd-cluster-operator"] },
      ),
      { ...users("reader"), roles: { count: 3, names: ["etcd-cluster-operator", "next", "shop"] } },
    ],
    ["are reported with up to ten names", told(...numbered(10)), users(...numbered(10))],
    ["are only counted beyond ten", told(...numbered(11)), { users: { count: 11, names: numbered(10) } }],
    ["are reported with up to 64 characters", told("a".repeat(64)), users("a".repeat(64))],
    ["are shortened beyond 64 characters", told("a".repeat(65)), users(`${"a".repeat(64)}…`)],
    ["are not shortened within an escape sequence", told(`${"a".repeat(60)}\u001b`), users(`${"a".repeat(60)}…`)],
    ["may end with an escape sequence", told(`${"a".repeat(58)}\u001b`), users(`${"a".repeat(58)}\\u{1b}`)],
    [
      "are escaped where they could steer a terminal or imitate another text",
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
  ])("are reported as text: %j", (given, text) => {
    expect(unmanagedText(given)).toBe(text);
  });
});

describe("unmanaged names are reported", () => {
  const because = 'etcd has 1 user that no EtcdUser names: "ann"; they are left alone';
  const noticed = [{ rule: "unmanaged-names", because, is: "notice" }];
  test.each<[string, ClusterSnapshot, object[] | undefined, Unmanaged | undefined]>([
    ["when they are first seen", guarded({ unmanaged: users("ann") }), noticed, users("ann")],
    ["when there are new ones", guarded({ unmanaged: users("ann"), toldUnmanaged: users("bob") }), noticed, users("ann")],
    ["once, and not again when the status has them", guarded({ unmanaged: users("ann"), toldUnmanaged: users("ann") }), undefined, users("ann")],
    ["not when there are none", guarded({ unmanaged: {} }), undefined, undefined],
    ["not by an event when none are left", guarded({ unmanaged: {}, toldUnmanaged: users("ann") }), undefined, undefined],
    ["as before while etcd does not answer", guarded({ toldUnmanaged: users("ann") }), undefined, users("ann")],
    ["not for a cluster without authentication", secured(), undefined, undefined],
  ])("%s", (_, snapshot, reports, status) => {
    const plan = planCluster(snapshot);
    expect(plan.reports).toEqual(reports);
    expect(authStatus(snapshot).auth?.unmanaged).toEqual(status);
  });

  test("without an effect on Ready", () => {
    const snapshot = guarded({ unmanaged: users("ann") });
    const own = [] as never[];
    const before = guarded();
    const judged = (of: ClusterSnapshot) => ready({ snapshot: of, plan: planCluster(of), members: own, own });
    expect(judged(snapshot)).toEqual(judged(before));
  });
}); // biome-ignore format: a table
