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
  ["a user in the status is claimed", userClaim(), true],
  ["a role in the status is claimed", roleClaim(), true],
  ["a user is not claimed when the status has another name", userClaim({}, { name: "other" }), false],
  ["a role is not claimed when the status has another name", roleClaim({}, { name: "other" }), false],
  ["a user that is not in the status is not claimed", userClaim({ claimed: false }), false],
  ["a role that is not in the status is not claimed", roleClaim({ claimed: false }), false],
  ["a user claimed in an earlier etcd cluster is not claimed", userClaim({ claimed: "elsewhere" }), false],
  ["a role claimed in an earlier etcd cluster is not claimed", roleClaim({ claimed: "elsewhere" }), false],
  ["a user is not claimed while the cluster has no identity", userClaim({}, { cluster: FORMING }), false],
  ["a user is not claimed without a cluster", userClaim({}, { cluster: undefined }), false],
  ["a user is not claimed when neither the object nor the status has a name", userClaim({ claimed: false }, { name: undefined as never, cluster: undefined }), false],
])("%s", (_, claim, is) => expect(isClaimed(claim)).toBe(is)); // biome-ignore format: a table

test.each([
  ["derived from the auth revision for a claimed user", userClaim(), "known"],
  ["read from etcd for a user that the status does not claim", userClaim({ claimed: false }), "asked"],
  ["read from etcd for a user claimed in an earlier etcd cluster", userClaim({ claimed: "elsewhere" }), "asked"],
  ["read from etcd for a role that the status does not claim", roleClaim({ claimed: false }), "asked"],
] as const)("that a name is absent in etcd is %s", (_, claim, how) => expect(absenceFor(claim)).toBe(how));

test("an object without a status has claimed no name", () =>
  expect(isClaimed(userClaim({}, { object: STATUSLESS }))).toBe(false));

test.each<[string, Claim, string | undefined]>([
  ["a claimed user's name is free", userClaim(), undefined],
  ["the name of a user that is not in etcd is free", userClaim({ claimed: false }, { found: absent }), undefined],
  ["the name of a user that could not be read is free", userClaim({ claimed: false }, { found: unknown("silent") }), undefined],
  ["an existing user's name is free with spec.takeOver", userClaim({ claimed: false, spec: { takeOver: true } }), undefined],
  ["a user's name is taken when an older EtcdUser has it", userClaim({}, { elder: "other" }), "user app belongs to EtcdUser other, which is older"],
  ["a role's name is taken when an older EtcdRole has it", roleClaim({}, { elder: "other" }), "role reader belongs to EtcdRole other, which is older"],
  ["an existing user's name is taken when the user is not claimed", userClaim({ claimed: false }), "user app is in etcd already, and this EtcdUser has not created it; set spec.takeOver to true to take it over"],
  ["an existing role's name is taken when it was claimed in an earlier etcd cluster", roleClaim({ claimed: "elsewhere" }), "role reader is in etcd already, and this EtcdRole has not created it; set spec.takeOver to true to take it over"],
])("%s", (_, claim, why) => expect(whyTaken(claim)).toBe(why)); // biome-ignore format: a table

test.each<[string, Claim, string | undefined]>([
  ["deletes a claimed user from etcd", userClaim(), undefined],
  [
    "leaves the user in etcd without a cluster",
    userClaim({}, { cluster: undefined }),
    "its EtcdCluster does not exist or is being deleted",
  ],
  [
    "leaves the user in etcd when the cluster is being deleted",
    userClaim({}, { cluster: GOING }),
    "its EtcdCluster does not exist or is being deleted",
  ],
  ["leaves a user in etcd that it did not create", userClaim({ claimed: false }), "it has created no user there"],
  ["leaves a role in etcd that it did not create", roleClaim({ claimed: false }), "it has created no role there"],
  [
    "leaves a user in etcd that was claimed in an earlier etcd cluster",
    userClaim({ claimed: "elsewhere" }),
    "it has created no user there",
  ],
  [
    "deletes a user that may be in the data of a cluster that forms again",
    userClaim({}, { cluster: FORMING }),
    undefined,
  ],
  [
    "deletes a role that may be in the data of a cluster that forms again",
    roleClaim({}, { cluster: FORMING }),
    undefined,
  ],
  [
    "leaves a user that was never created in a cluster that forms again",
    userClaim({ claimed: false }, { cluster: FORMING }),
    "it has created no user there",
  ],
  [
    "without a status leaves the user in a cluster that forms again",
    userClaim({}, { cluster: FORMING, object: STATUSLESS }),
    "it has created no user there",
  ],
  [
    "leaves the user of an older EtcdUser in a cluster that forms again",
    userClaim({}, { cluster: FORMING, elder: "other" }),
    "the user belongs to EtcdUser other",
  ],
  [
    "leaves the user of an older EtcdUser in etcd",
    userClaim({}, { elder: "other" }),
    "the user belongs to EtcdUser other",
  ],
  [
    "leaves the role of an older EtcdRole in etcd",
    roleClaim({}, { elder: "other" }),
    "the role belongs to EtcdRole other",
  ],
])("a deleted object %s", (_, claim, why) => expect(whyLeft(claim)).toBe(why));

test.each<[string, string | undefined, string | undefined]>([
  ["changing a claimed user is allowed", notOwn(userClaim()), undefined],
  ["changing a user that the status does not claim is forbidden", notOwn(userClaim({ claimed: false })), "its status does not claim the user"],
  ["changing a role that the status does not claim is forbidden", notOwn(roleClaim({ claimed: false })), "its status does not claim the role"],
  ["changing a user of an older EtcdUser is forbidden", notOwn(userClaim({}, { elder: "other" })), "the user belongs to EtcdUser other"],
  ["claiming a user that is not in etcd is allowed", unaskedClaim(userClaim({}, { found: absent })), undefined],
  ["claiming an existing user with spec.takeOver is allowed", unaskedClaim(userClaim({ spec: { takeOver: true } })), undefined],
  ["claiming an existing user is forbidden", unaskedClaim(userClaim()), "the user may have been created by others"],
  ["claiming an existing role is forbidden", unaskedClaim(roleClaim()), "the role may have been created by others"],
  ["claiming a user that could not be read is forbidden", unaskedClaim(userClaim({ spec: { takeOver: true } }, { found: unknown("silent") })), "the user may have been created by others"],
  ["claiming a role of an older EtcdRole is forbidden", unaskedClaim(roleClaim({}, { elder: "other", found: absent })), "the role belongs to EtcdRole other"],
  ["creating an object in etcd with the finalizer is allowed", notHeld(userClaim(), false), undefined],
  ["creating an object in etcd without the finalizer is forbidden", notHeld(userClaim({ held: false }), false), "the EtcdUser has no finalizer yet"],
  ["setting the finalizer is allowed", notHeld(userClaim({ held: false }), true), undefined],
  ["setting the finalizer while the object is being deleted is forbidden", notHeld(roleClaim({ deleting: true }), true), "the EtcdRole is being deleted"],
  ["deleting in etcd while the object is being deleted is allowed", notDeleted(userClaim({ deleting: true })), undefined],
  ["deleting in etcd while the object is not being deleted is forbidden", notDeleted(userClaim()), "the EtcdUser is not being deleted"],
  ["a change in a cluster that serves is allowed", notReady(userClaim()), undefined],
  ["a change in a cluster that is being deleted is forbidden", notReady(userClaim({}, { cluster: GOING })), "EtcdCluster my-etcd is being deleted"],
])("%s", (_, said, why) => expect(said).toBe(why)); // biome-ignore format: a table

test("an object is held by its finalizer, and is being deleted by its deletion timestamp", () => {
  expect([isHeld(userClaim()), isHeld(userClaim({ held: false }))]).toEqual([true, false]);
  expect([isDeleting(userClaim()), isDeleting(userClaim({ deleting: true }))]).toEqual([false, true]);
  const { finalizers: _, ...metadata } = etcdUser().metadata;
  expect(isHeld(userClaim({}, { object: { ...etcdUser(), metadata } }))).toBe(false);
});
