import { expect, test } from "vitest";
import { elderOf } from "#access/namesakes.ts";
import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { etcdRole, etcdUser } from "#kit/snapshots/access.ts";

const at = (creationTimestamp: string) => ({ creationTimestamp });
const [first, second] = [at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z")];
const named = (name: string, roleName: string, when = first) => etcdRole({ name, ...when, spec: { roleName } });
/** An EtcdRole that has claimed nothing in its status. */
const free = (name: string, roleName: string) => etcdRole({ name, ...first, claimed: false, spec: { roleName } });
const OTHER = { roleName: "s" };

test("the name in etcd is the spec's name, else the object's name", () => {
  expect([roleNameOf(etcdRole()), roleNameOf(named("a", "r"))]).toEqual(["reader", "r"]);
  expect([userNameOf(etcdUser()), userNameOf(etcdUser({ spec: { userName: "u" } }))]).toEqual(["app", "u"]);
});

test.each([
  ["a single EtcdRole has the name", named("a", "r"), [], undefined],
  ["an EtcdRole has the name when others have other names", named("a", "r"), [named("b", "s")], undefined],
  [
    "an unclaimed EtcdRole has the name when an older one has another name",
    free("b", "r"),
    [free("a", "s")],
    undefined,
  ],
  [
    "a younger EtcdRole has the name when older ones have other names",
    named("a", "r", second),
    [named("b", "s")],
    undefined,
  ],
  ["the older EtcdRole has the name", named("a", "r"), [named("b", "r", second)], undefined],
  ["the younger EtcdRole does not have the name", named("a", "r", second), [named("b", "r")], "b"],
  ["the first by name has it when both were created in the same second", named("a", "r"), [named("b", "r")], undefined],
  [
    "the second by name does not have it when both were created in the same second",
    named("b", "r"),
    [named("a", "r")],
    "a",
  ],
  [
    "the younger EtcdRole without spec.roleName does not have the name",
    etcdRole({ name: "r", ...second }),
    [named("b", "r")],
    "b",
  ],
  [
    "the younger EtcdRole has the name when only it has claimed the name",
    named("b", "r", second),
    [free("a", "r")],
    undefined,
  ],
  [
    "the older EtcdRole does not have the name when only the younger has claimed it",
    free("a", "r"),
    [named("b", "r", second)],
    "b",
  ],
  [
    "the younger EtcdRole does not have the name when both have claimed it",
    named("b", "r", second),
    [named("a", "r")],
    "a",
  ],
  [
    "the younger EtcdRole does not have the name when it has claimed another name",
    { ...named("b", "r", second), status: OTHER },
    [free("a", "r")],
    "a",
  ],
] as const)("two EtcdRoles with one name in etcd: %s", (_, role, others, elder) => {
  expect(elderOf(role, [...others, role], roleNameOf)).toBe(elder);
});

test("a user's name in etcd stays with the EtcdUser that has claimed it", () => {
  const older = etcdUser({ name: "a", ...first, claimed: false, spec: { userName: "u" } });
  const onRecord = etcdUser({ name: "b", ...second, spec: { userName: "u" } });
  const both = [older, onRecord];
  expect([elderOf(onRecord, both, userNameOf), elderOf(older, both, userNameOf)]).toEqual([undefined, "b"]);
});
