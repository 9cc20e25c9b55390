import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { guarded, LOCKED, movingTo, OPERATOR_USER, PREPARED } from "#kit/snapshots/cluster-auth.ts";
import { withSeen } from "#kit/snapshots/cluster-tls.ts";
import { nextUser, whyStranger } from "./users.ts";

// The next user of the operator, and when the operator may use it.

const SECRET = "Secret theirs-too, with which the operator is to log in, has";
const NO_ADMINISTRATOR = `${SECRET} the common name bob; that user does not have the role root in etcd yet`;
const administrator = { ...LOCKED, next: ["root"] };
const YET_TO_BE_ASKED = `${SECRET} the common name bob; etcd has not yet answered whether that user has the role root`;
/** The next certificate of the operator has no common name. */
const nameless = movingTo({ next: "" });
const facts = nameless.certificates?.operator;

const cases: { name: string; given: ClusterSnapshot; is: string | undefined }[] = [
  { name: "it uses that certificate already", given: guarded({ recorded: true }), is: undefined },
  { name: "etcd has no user with its common name", given: movingTo({ next: "bob" }), is: NO_ADMINISTRATOR },
  {
    name: "the user with its common name is an administrator",
    given: movingTo({ next: "bob", state: administrator }),
    is: undefined,
  },
  {
    name: "the user with its common name has only other roles",
    given: movingTo({ next: "bob", state: { ...LOCKED, next: ["reader"] } }),
    is: NO_ADMINISTRATOR,
  },
  {
    name: "etcd last answered about another user",
    given: movingTo({ next: "carol", state: administrator }),
    is: YET_TO_BE_ASKED,
  },
  {
    name: "users were not read since the operator started",
    given: { ...movingTo({ next: "bob", recorded: true }), auth: undefined },
    is: YET_TO_BE_ASKED,
  },
  {
    name: "etcd did not answer",
    given: movingTo({ next: "bob", state: unknown("no answer"), recorded: true }),
    is: `${SECRET} the common name bob; etcd did not answer whether that user has the role root: no answer`,
  },
  { name: "its common name is unchanged", given: movingTo({}, OPERATOR_USER), is: undefined },
  { name: "authentication is off", given: movingTo({ next: "bob", state: PREPARED }), is: undefined },
  {
    name: "its common name is root",
    given: movingTo({ next: "root", state: administrator }, "root"),
    is: `${SECRET} the common name root, which is reserved for people`,
  },
  {
    name: "it has no common name",
    given:
      facts?.is === "present"
        ? withSeen(nameless, { operator: { ...facts, value: { ...facts.value, commonName: undefined } } })
        : nameless,
    is: `${SECRET} no usable common name`,
  },
];
test.each(cases)("whether the operator may use its next certificate, when $name", ({ given, is }) => {
  expect(whyStranger(given)).toBe(is);
});

test("nextUser is the common name in the certificate that the operator does not use yet", () => {
  expect(nextUser(movingTo({}))).toBe("bob");
  expect(nextUser(guarded())).toBeUndefined();
});
