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
import { etcdOf, etcdRole, etcdUser, type GivenUser } from "#kit/access.ts";

const there = present([]);

/** EtcdUser app, whose user is there and is its own. */
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
  ["what is on record", userClaim(), true],
  ["a role, too", roleClaim(), true],
  ["not what is on record by another name", userClaim({}, { name: "other" }), false],
  ["nor a role so", roleClaim({}, { name: "other" }), false],
  ["nor what is on no record", userClaim({ claimed: false }), false],
  ["nor a role so, either", roleClaim({ claimed: false }), false],
  ["nor what is in an etcd of before", userClaim({ claimed: "elsewhere" }), false],
  ["nor a role of it", roleClaim({ claimed: "elsewhere" }), false],
  ["nor without an etcd", userClaim({}, { cluster: FORMING }), false],
  ["nor without a cluster", userClaim({}, { cluster: undefined }), false],
  ["nor what has no name, on a record that says none", userClaim({ claimed: false }, { name: undefined as never, cluster: undefined }), false],
])("claimed is %s", (_, claim, is) => expect(isClaimed(claim)).toBe(is)); // biome-ignore format: a table

test.each([
  ["known of what is its own", userClaim(), "known"],
  ["asked of a user that may be somebody else's", userClaim({ claimed: false }), "asked"],
  ["asked in an etcd that was not here before", userClaim({ claimed: "elsewhere" }), "asked"],
  ["asked of a role that may be somebody else's", roleClaim({ claimed: false }), "asked"],
] as const)("absence is %s", (_, claim, how) => expect(absenceFor(claim)).toBe(how));

test("an object without a status has claimed nothing", () =>
  expect(isClaimed(userClaim({}, { object: STATUSLESS }))).toBe(false));

test.each<[string, Claim, string | undefined]>([
  ["its own", userClaim(), undefined],
  ["nobody's yet", userClaim({ claimed: false }, { found: absent }), undefined],
  ["not known", userClaim({ claimed: false }, { found: unknown("silent") }), undefined],
  ["to be taken over", userClaim({ claimed: false, spec: { takeOver: true } }), undefined],
  ["an older object's", userClaim({}, { elder: "other" }), "user app is EtcdUser other's, which is older"],
  ["an older role's", roleClaim({}, { elder: "other" }), "role reader is EtcdRole other's, which is older"],
  ["somebody's", userClaim({ claimed: false }), "user app is in etcd already, and this EtcdUser has not made it there; with spec.takeOver: true it becomes this one's"],
  ["of an etcd of before", roleClaim({ claimed: "elsewhere" }), "role reader is in etcd already, and this EtcdRole has not made it there; with spec.takeOver: true it becomes this one's"],
])("taken: what is %s", (_, claim, why) => expect(whyTaken(claim)).toBe(why)); // biome-ignore format: a table

test.each<[string, Claim, string | undefined]>([
  ["its own", userClaim(), undefined],
  ["without a cluster", userClaim({}, { cluster: undefined }), "its EtcdCluster is gone, or about to be"],
  ["of one that goes", userClaim({}, { cluster: GOING }), "its EtcdCluster is gone, or about to be"],
  ["not made", userClaim({ claimed: false }), "it has made no user there"],
  ["a role that is not made", roleClaim({ claimed: false }), "it has made no role there"],
  ["made in an etcd of before", userClaim({ claimed: "elsewhere" }), "it has made no user there"],
  ["perhaps in the data with which a cluster comes back", userClaim({}, { cluster: FORMING }), undefined],
  ["a role that perhaps is", roleClaim({}, { cluster: FORMING }), undefined],
  [
    "in no data, since it was never made",
    userClaim({ claimed: false }, { cluster: FORMING }),
    "it has made no user there",
  ],
  [
    "in no data, without a status",
    userClaim({}, { cluster: FORMING, object: STATUSLESS }),
    "it has made no user there",
  ],
  [
    "an older object's in whatever data",
    userClaim({}, { cluster: FORMING, elder: "other" }),
    "the user is EtcdUser other's",
  ],
  ["an older object's", userClaim({}, { elder: "other" }), "the user is EtcdUser other's"],
  ["an older role's", roleClaim({}, { elder: "other" }), "the role is EtcdRole other's"],
])("left behind: what is %s", (_, claim, why) => expect(whyLeft(claim)).toBe(why));

test.each<[string, string | undefined, string | undefined]>([
  ["change: its own", notOwn(userClaim()), undefined],
  ["change: on no record", notOwn(userClaim({ claimed: false })), "it is not on record that the user is this object's"],
  ["change: a role on no record", notOwn(roleClaim({ claimed: false })), "it is not on record that the role is this object's"],
  ["change: an older object's", notOwn(userClaim({}, { elder: "other" })), "the user is EtcdUser other's"],
  ["claim: what is not there", unaskedClaim(userClaim({}, { found: absent })), undefined],
  ["claim: what is to be taken over", unaskedClaim(userClaim({ spec: { takeOver: true } })), undefined],
  ["claim: what is there", unaskedClaim(userClaim()), "the user may be somebody else's"],
  ["claim: a role that is there", unaskedClaim(roleClaim()), "the role may be somebody else's"],
  ["claim: what is not known", unaskedClaim(userClaim({ spec: { takeOver: true } }, { found: unknown("silent") })), "the user may be somebody else's"],
  ["claim: an older role's", unaskedClaim(roleClaim({}, { elder: "other", found: absent })), "the role is EtcdRole other's"],
  ["make: for one that is held", notHeld(userClaim(), false), undefined],
  ["make: for one that is not", notHeld(userClaim({ held: false }), false), "the EtcdUser has no finalizer yet"],
  ["make: for one that is about to be", notHeld(userClaim({ held: false }), true), undefined],
  ["make: for one that goes", notHeld(roleClaim({ deleting: true }), true), "the EtcdRole is being deleted"],
  ["end: one that goes", notDeleted(userClaim({ deleting: true })), undefined],
  ["end: one that stays", notDeleted(userClaim()), "nobody has deleted the EtcdUser"],
  ["place: that serves", notReady(userClaim()), undefined],
  ["place: that goes", notReady(userClaim({}, { cluster: GOING })), "EtcdCluster my-etcd is being deleted"],
])("forbidden: %s", (_, said, why) => expect(said).toBe(why)); // biome-ignore format: a table

test("who is held, and who goes", () => {
  expect([isHeld(userClaim()), isHeld(userClaim({ held: false }))]).toEqual([true, false]);
  expect([isDeleting(userClaim()), isDeleting(userClaim({ deleting: true }))]).toEqual([false, true]);
  const { finalizers: _, ...metadata } = etcdUser().metadata;
  expect(isHeld(userClaim({}, { object: { ...etcdUser(), metadata } }))).toBe(false);
});
