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

test("the name in etcd is that of the spec, else the object's", () => {
  expect([roleNameOf(etcdRole()), roleNameOf(named("a", "r"))]).toEqual(["reader", "r"]);
  expect([userNameOf(etcdUser()), userNameOf(etcdUser({ spec: { userName: "u" } }))]).toEqual(["app", "u"]);
});

test.each([
  ["a single EtcdRole", named("a", "r"), [], undefined],
  ["with others of other names", named("a", "r"), [named("b", "s")], undefined],
  ["unclaimed, with an older unclaimed one of another name", free("b", "r"), [free("a", "s")], undefined],
  ["with older ones of other names", named("a", "r", second), [named("b", "s")], undefined],
  ["the older one", named("a", "r"), [named("b", "r", second)], undefined],
  ["the younger one", named("a", "r", second), [named("b", "r")], "b"],
  ["created in the same second, the first by name", named("a", "r"), [named("b", "r")], undefined],
  ["created in the same second, the second by name", named("b", "r"), [named("a", "r")], "a"],
  ["by metadata.name, when an older one has that roleName", etcdRole({ name: "r", ...second }), [named("b", "r")], "b"],
  ["claimed by the younger one", named("b", "r", second), [free("a", "r")], undefined],
  ["the older one, claimed by the younger one", free("a", "r"), [named("b", "r", second)], "b"],
  ["the younger one, claimed by both", named("b", "r", second), [named("a", "r")], "a"],
  [
    "the younger one that has claimed another name",
    { ...named("b", "r", second), status: OTHER },
    [free("a", "r")],
    "a",
  ],
] as const)("the EtcdRole that has the name in etcd: %s", (_, role, others, elder) => {
  expect(elderOf(role, [...others, role], roleNameOf)).toBe(elder);
});

test("a user's name in etcd stays with the EtcdUser that has claimed it", () => {
  const older = etcdUser({ name: "a", ...first, claimed: false, spec: { userName: "u" } });
  const onRecord = etcdUser({ name: "b", ...second, spec: { userName: "u" } });
  const both = [older, onRecord];
  expect([elderOf(onRecord, both, userNameOf), elderOf(older, both, userNameOf)]).toEqual([undefined, "b"]);
});
