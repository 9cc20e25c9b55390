import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { nextUser, whyStranger } from "#cluster/auth/users.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { guarded, LOCKED, movingTo, OPERATOR_USER, PREPARED } from "#kit/cluster-auth.ts";
import { withSeen } from "#kit/cluster-tls.ts";

// Who the operator is about to be, and whether it may.

const ASKED = "etcd asks for users, and the operator is to show Secret theirs-too: ";
const NO_ADMINISTRATOR = `${ASKED}bob, its common name, is no administrator there yet`;
const administrator = { ...LOCKED, next: ["root"] };
const YET_TO_BE_ASKED = `${ASKED}etcd is yet to be asked whether bob, its common name, is an administrator there`;
/** What the operator is to show names nobody. */
const nameless = movingTo({ next: "" });
const facts = nameless.certificates?.operator;

const cases: { name: string; given: ClusterSnapshot; is: string | undefined }[] = [
  { name: "it shows what it is to show", given: guarded({ recorded: true }), is: undefined },
  { name: "etcd does not know it", given: movingTo({ next: "bob" }), is: NO_ADMINISTRATOR },
  { name: "etcd has it for an administrator", given: movingTo({ next: "bob", state: administrator }), is: undefined },
  {
    name: "etcd has it for somebody with other roles",
    given: movingTo({ next: "bob", state: { ...LOCKED, next: ["reader"] } }),
    is: NO_ADMINISTRATOR,
  },
  {
    name: "etcd was asked about somebody else",
    given: movingTo({ next: "carol", state: administrator }),
    is: YET_TO_BE_ASKED,
  },
  {
    name: "nobody has looked at users since the operator started",
    given: { ...movingTo({ next: "bob", recorded: true }), auth: undefined },
    is: YET_TO_BE_ASKED,
  },
  {
    name: "etcd could not be asked",
    given: movingTo({ next: "bob", state: unknown("no answer"), recorded: true }),
    is: `${ASKED}etcd could not be asked whether bob, its common name, is an administrator there: no answer`,
  },
  { name: "it has the name of today", given: movingTo({}, OPERATOR_USER), is: undefined },
  { name: "nobody is asked for", given: movingTo({ next: "bob", state: PREPARED }), is: undefined },
  {
    name: "it would be root, which is an administrator",
    given: movingTo({ next: "root", state: administrator }, "root"),
    is: `${ASKED}root, its common name, is for people alone`,
  },
  {
    name: "it has no name",
    given:
      facts?.is === "present"
        ? withSeen(nameless, { operator: { ...facts, value: { ...facts.value, commonName: undefined } } })
        : nameless,
    is: `${ASKED}it has no common name that can be told`,
  },
];
test.each(cases)("why the operator may not go over to another certificate: $name", ({ given, is }) => {
  expect(whyStranger(given)).toBe(is);
});

test("who the operator is about to be is told while it shows something else", () => {
  expect(nextUser(movingTo({}))).toBe("bob");
  expect(nextUser(guarded())).toBeUndefined();
});
