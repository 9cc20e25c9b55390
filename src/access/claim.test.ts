import { expect, test } from "vitest";
import {
  absenceFor,
  type Claim,
  isClaimed,
  isDeleting,
  isHeld,
  notDeleted,
  notHeld,
  notOwn,
  notReady,
  unaskedClaim,
  whyLeft,
  whyTaken,
} from "#access/claim.ts";
import { USER_FINALIZER } from "#api/names.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, etcdRole, etcdUser, type GivenUser } from "#kit/snapshots/access.ts";

const there = present([]);

/** EtcdUser app with its own existing user. */
function userClaim(given: GivenUser = {}, change: Partial<Claim> = {}): Claim {
  const object = etcdUser(given);
  return { kind: "EtcdUser", object, name: "app", finalizer: USER_FINALIZER, cluster: etcdOf(), elder: undefined, found: there, ...change };
} // biome-ignore format: one line

function roleClaim(given: GivenUser = {}, change: Partial<Claim> = {}): Claim {
  const { object: _, ...others } = userClaim({}, change);
  return { ...others, kind: "EtcdRole", name: change.name ?? "reader", object: etcdRole(given) };
}

const FORMING = etcdOf({}, { status: { identity: undefined } });
const { status: _, ...STATUSLESS } = etcdUser();
const GOING = etcdOf({}, { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } });

test.each<[string, Claim, boolean]>([
  ["yes, of a user in the status", userClaim(), true],
  ["yes, of a role in the status", roleClaim(), true],
  ["no, of a user that the status has by another name", userClaim({}, { name: "other" }), false],
  ["no, of a role that the status has by another name", roleClaim({}, { name: "other" }), false],
  ["no, of a user that is not in the status", userClaim({ claimed: false }), false],
  ["no, of a role that is not in the status", roleClaim({ claimed: false }), false],
  ["no, of a user in an earlier etcd", userClaim({ claimed: "elsewhere" }), false],
  ["no, of a role in an earlier etcd", roleClaim({ claimed: "elsewhere" }), false],
  ["no, while the cluster has no identity", userClaim({}, { cluster: FORMING }), false],
  ["no, without a cluster", userClaim({}, { cluster: undefined }), false],
  ["no, when neither the object nor the status has a name", userClaim({ claimed: false }, { name: undefined as never, cluster: undefined }), false],
])("a claim: %s", (_, claim, is) => expect(isClaimed(claim)).toBe(is)); // biome-ignore format: a table

test.each([
  ["known for a claimed user", userClaim(), "known"],
  ["asked for a user that may belong to others", userClaim({ claimed: false }), "asked"],
  ["asked in a new etcd", userClaim({ claimed: "elsewhere" }), "asked"],
  ["asked for a role that may belong to others", roleClaim({ claimed: false }), "asked"],
] as const)("absence is %s", (_, claim, how) => expect(absenceFor(claim)).toBe(how));

test("an object without a status has claimed nothing", () =>
  expect(isClaimed(userClaim({}, { object: STATUSLESS }))).toBe(false));

test.each<[string, Claim, string | undefined]>([
  ["no, a claimed user", userClaim(), undefined],
  ["no, a missing user", userClaim({ claimed: false }, { found: absent }), undefined],
  ["no, a user that could not be read", userClaim({ claimed: false }, { found: unknown("silent") }), undefined],
  ["no, a user with spec.takeOver", userClaim({ claimed: false, spec: { takeOver: true } }), undefined],
  ["yes, a user of an older EtcdUser", userClaim({}, { elder: "other" }), "user app belongs to EtcdUser other, which is older"],
  ["yes, a role of an older EtcdRole", roleClaim({}, { elder: "other" }), "role reader belongs to EtcdRole other, which is older"],
  ["yes, an existing user that is not claimed", userClaim({ claimed: false }), "user app is in etcd already, and this EtcdUser has not created it; set spec.takeOver to true to take it over"],
  ["yes, a role claimed in an earlier etcd", roleClaim({ claimed: "elsewhere" }), "role reader is in etcd already, and this EtcdRole has not created it; set spec.takeOver to true to take it over"],
])("the name is taken: %s", (_, claim, why) => expect(whyTaken(claim)).toBe(why)); // biome-ignore format: a table

test.each<[string, Claim, string | undefined]>([
  ["no, a claimed user", userClaim(), undefined],
  [
    "yes, without a cluster",
    userClaim({}, { cluster: undefined }),
    "its EtcdCluster does not exist or is being deleted",
  ],
  [
    "yes, when the cluster is being deleted",
    userClaim({}, { cluster: GOING }),
    "its EtcdCluster does not exist or is being deleted",
  ],
  ["yes, a user that was not created", userClaim({ claimed: false }), "it has created no user there"],
  ["yes, a role that was not created", roleClaim({ claimed: false }), "it has created no role there"],
  ["yes, a user claimed in an earlier etcd", userClaim({ claimed: "elsewhere" }), "it has created no user there"],
  ["no, a user that may be in the data of a cluster that forms again", userClaim({}, { cluster: FORMING }), undefined],
  ["no, a role that may be in the data of a cluster that forms again", roleClaim({}, { cluster: FORMING }), undefined],
  [
    "yes, in a cluster that forms again, a user that was never created",
    userClaim({ claimed: false }, { cluster: FORMING }),
    "it has created no user there",
  ],
  [
    "yes, in a cluster that forms again, without a status",
    userClaim({}, { cluster: FORMING, object: STATUSLESS }),
    "it has created no user there",
  ],
  [
    "yes, in a cluster that forms again, a user of an older EtcdUser",
    userClaim({}, { cluster: FORMING, elder: "other" }),
    "the user belongs to EtcdUser other",
  ],
  ["yes, a user of an older EtcdUser", userClaim({}, { elder: "other" }), "the user belongs to EtcdUser other"],
  ["yes, a role of an older EtcdRole", roleClaim({}, { elder: "other" }), "the role belongs to EtcdRole other"],
])("a deleted object leaves its name in etcd: %s", (_, claim, why) => expect(whyLeft(claim)).toBe(why));

test.each<[string, string | undefined, string | undefined]>([
  ["change: a claimed user", notOwn(userClaim()), undefined],
  ["change: a user that is not in the status", notOwn(userClaim({ claimed: false })), "its status does not claim the user"],
  ["change: a role that is not in the status", notOwn(roleClaim({ claimed: false })), "its status does not claim the role"],
  ["change: a user of an older EtcdUser", notOwn(userClaim({}, { elder: "other" })), "the user belongs to EtcdUser other"],
  ["claim: a missing user", unaskedClaim(userClaim({}, { found: absent })), undefined],
  ["claim: a user with spec.takeOver", unaskedClaim(userClaim({ spec: { takeOver: true } })), undefined],
  ["claim: an existing user", unaskedClaim(userClaim()), "the user may have been created by others"],
  ["claim: an existing role", unaskedClaim(roleClaim()), "the role may have been created by others"],
  ["claim: a user that could not be read", unaskedClaim(userClaim({ spec: { takeOver: true } }, { found: unknown("silent") })), "the user may have been created by others"],
  ["claim: a role of an older EtcdRole", unaskedClaim(roleClaim({}, { elder: "other", found: absent })), "the role belongs to EtcdRole other"],
  ["create: with a finalizer", notHeld(userClaim(), false), undefined],
  ["create: without a finalizer", notHeld(userClaim({ held: false }), false), "the EtcdUser has no finalizer yet"],
  ["create: when the finalizer is about to be set", notHeld(userClaim({ held: false }), true), undefined],
  ["create: while the object is being deleted", notHeld(roleClaim({ deleting: true }), true), "the EtcdRole is being deleted"],
  ["delete: while the object is being deleted", notDeleted(userClaim({ deleting: true })), undefined],
  ["delete: while the object is not being deleted", notDeleted(userClaim()), "the EtcdUser is not being deleted"],
  ["cluster: that serves", notReady(userClaim()), undefined],
  ["cluster: that is being deleted", notReady(userClaim({}, { cluster: GOING })), "EtcdCluster my-etcd is being deleted"],
])("forbidden: %s", (_, said, why) => expect(said).toBe(why)); // biome-ignore format: a table

test("a claim is held by its finalizer and deleting by its deletion timestamp", () => {
  expect([isHeld(userClaim()), isHeld(userClaim({ held: false }))]).toEqual([true, false]);
  expect([isDeleting(userClaim()), isDeleting(userClaim({ deleting: true }))]).toEqual([false, true]);
  const { finalizers: _, ...metadata } = etcdUser().metadata;
  expect(isHeld(userClaim({}, { object: { ...etcdUser(), metadata } }))).toBe(false);
});
