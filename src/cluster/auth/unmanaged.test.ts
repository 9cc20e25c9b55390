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

describe("unmanaged users and roles of etcd", () => {
  test.each<[string, Unmanaged, Unmanaged]>([
    ["are none when etcd has only root and the operator's users", told("root", "etcd-cluster-operator", "op"), {}],
    ["are sorted", told("bob", "ann"), users("ann", "bob")],
    [
      "exclude names in EtcdUsers and EtcdRoles, recorded operators and the role root",
      unmanagedOf(
        { status: { auth: { enabled: true, operators: ["next"] } } as never },
        undefined,
        { users: new Map([["shop", "a"]]), roles: new Set(["reader"]) },
        { users: ["next", "shop", "reader"], roles: ["root", "reader", "shop", "next", "etcd-cluster-operator"] },
      ),
      { ...users("reader"), roles: { count: 3, names: ["etcd-cluster-operator", "next", "shop"] } },
    ],
    ["are listed up to ten names", told(...numbered(10)), users(...numbered(10))],
    ["are only counted beyond ten names", told(...numbered(11)), { users: { count: 11, names: numbered(10) } }],
    ["are listed with up to 64 characters", told("a".repeat(64)), users("a".repeat(64))],
    ["are shortened beyond 64 characters", told("a".repeat(65)), users(`${"a".repeat(64)}…`)],
    [
      "are cut off before an escape sequence that exceeds 64 characters",
      told(`${"a".repeat(60)}\u001b`),
      users(`${"a".repeat(60)}…`),
    ],
    ["may end with an escape sequence", told(`${"a".repeat(58)}\u001b`), users(`${"a".repeat(58)}\\u{1b}`)],
    [
      "are escaped where they have control characters, invisible characters or quotes",
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
  ])("are reported as a sentence: %j", (given, text) => {
    expect(unmanagedText(given)).toBe(text);
  });
});

describe("unmanaged names", () => {
  const because = 'etcd has 1 user that no EtcdUser names: "ann"; they are left alone';
  const noticed = [{ rule: "unmanaged-names", because, is: "notice" }];
  test.each<[string, ClusterSnapshot, object[] | undefined, Unmanaged | undefined]>([
    ["are reported when they are first seen", guarded({ unmanaged: users("ann") }), noticed, users("ann")],
    ["are reported when etcd has other unmanaged names than the status", guarded({ unmanaged: users("ann"), toldUnmanaged: users("bob") }), noticed, users("ann")],
    ["are not reported again when the status has them", guarded({ unmanaged: users("ann"), toldUnmanaged: users("ann") }), undefined, users("ann")],
    ["are not reported when there are none", guarded({ unmanaged: {} }), undefined, undefined],
    ["are removed from the status without a notice when none are left", guarded({ unmanaged: {}, toldUnmanaged: users("ann") }), undefined, undefined],
    ["stay in the status while etcd does not answer", guarded({ toldUnmanaged: users("ann") }), undefined, users("ann")],
    ["are not reported for a cluster that was never asked for authentication", secured(), undefined, undefined],
  ])("%s", (_, snapshot, reports, status) => {
    const plan = planCluster(snapshot);
    expect(plan.reports).toEqual(reports);
    expect(authStatus(snapshot).auth?.unmanaged).toEqual(status);
  });

  test("have no effect on Ready", () => {
    const snapshot = guarded({ unmanaged: users("ann") });
    const own = [] as never[];
    const before = guarded();
    const judged = (of: ClusterSnapshot) => ready({ snapshot: of, plan: planCluster(of), members: own, own });
    expect(judged(snapshot)).toEqual(judged(before));
  });
}); // biome-ignore format: a table
