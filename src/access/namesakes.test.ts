import { expect, test } from "vitest";
import { elderOf } from "#access/namesakes.ts";
import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { etcdRole, etcdUser } from "#kit/access.ts";

const at = (creationTimestamp: string) => ({ creationTimestamp });
const [first, second] = [at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z")];
const named = (name: string, roleName: string, when = first) => etcdRole({ name, ...when, spec: { roleName } });
/** Nothing is on its record yet. */
const free = (name: string, roleName: string) => etcdRole({ name, ...first, claimed: false, spec: { roleName } });
const OTHER = { roleName: "s" };

test("the name in etcd is that of the spec, else the object's", () => {
  expect([roleNameOf(etcdRole()), roleNameOf(named("a", "r"))]).toEqual(["reader", "r"]);
  expect([userNameOf(etcdUser()), userNameOf(etcdUser({ spec: { userName: "u" } }))]).toEqual(["app", "u"]);
});

test.each([
  ["alone", named("a", "r"), [], undefined],
  ["with others of other names", named("a", "r"), [named("b", "s")], undefined],
  ["free, with an elder of another name that is free", free("b", "r"), [free("a", "s")], undefined],
  ["with older ones of other names", named("a", "r", second), [named("b", "s")], undefined],
  ["the older one", named("a", "r"), [named("b", "r", second)], undefined],
  ["the younger one", named("a", "r", second), [named("b", "r")], "b"],
  ["made in the same second, the first by name", named("a", "r"), [named("b", "r")], undefined],
  ["made in the same second, the other one", named("b", "r"), [named("a", "r")], "a"],
  ["by its own name, where another says it", etcdRole({ name: "r", ...second }), [named("b", "r")], "b"],
  ["the one that has it on record", named("b", "r", second), [free("a", "r")], undefined],
  ["the one that has not", free("a", "r"), [named("b", "r", second)], "b"],
  ["the older one of two on record", named("b", "r", second), [named("a", "r")], "a"],
  ["one that has another name on record", { ...named("b", "r", second), status: OTHER }, [free("a", "r")], "a"],
] as const)("who has a name in etcd: %s", (_, role, others, elder) => {
  expect(elderOf(role, [...others, role], roleNameOf)).toBe(elder);
});

test("a user's name in etcd is kept by the one that has it on record, too", () => {
  const older = etcdUser({ name: "a", ...first, claimed: false, spec: { userName: "u" } });
  const onRecord = etcdUser({ name: "b", ...second, spec: { userName: "u" } });
  const both = [older, onRecord];
  expect([elderOf(onRecord, both, userNameOf), elderOf(older, both, userNameOf)]).toEqual([undefined, "b"]);
});
