import { describe, expect, test } from "vitest";
import { areAdministratorsReady, hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { guarded, LOCKED_OUT, NO_USERS, PREPARED } from "#kit/cluster-auth.ts";

// What keeps etcd's users from being as the spec says; how people hear of it: conditions/auth-ready.test.ts.

const ISSUER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ours" } } } };
const unlike = { trouble: "its username is empty; it must be root" };

const cases: { name: string; given: ClusterSnapshot; is: object | undefined }[] = [
  {
    name: "nobody has said whether users are asked for, and etcd does not let the operator in",
    given: guarded({ wanted: undefined, state: LOCKED_OUT }, ISSUER),
    is: undefined,
  },
  {
    name: "no users are wanted, and the Secret of root is not as it should be",
    given: guarded({ wanted: false, secret: unlike }),
    is: undefined,
  },
  { name: "it is not as it should be", given: guarded({ secret: unlike }), is: { reason: "RootSecretInvalid" } },
  {
    name: "the operator's certificate is not read yet",
    given: guarded({ user: undefined, state: NO_USERS }),
    is: { reason: "AuthPending", message: "Secret my-etcd-operator-tls is being read", isForPeople: false },
  },
  {
    name: "it is not, and etcd lets nobody in who is no administrator",
    given: guarded({ user: undefined, state: LOCKED_OUT }, ISSUER),
    is: { reason: "NotAdministrator", isForPeople: true },
  },
  { name: "the operator is an administrator, whoever issues", given: guarded({}, ISSUER), is: undefined },
  {
    name: "members do not ask for certificates yet",
    given: { ...guarded({ state: PREPARED }), pods: new Map() },
    is: { reason: "AuthPending", isForPeople: false },
  },
  {
    name: "nobody is held up by that who asks for users already",
    given: { ...guarded(), pods: new Map() },
    is: undefined,
  },
];

describe("what keeps users from being as they are asked for: when", () => {
  test.each(cases)("$name", ({ given, is }) => {
    const hindrance = hindranceOf(given);
    if (is === undefined) expect(hindrance).toBeUndefined();
    else expect(hindrance).toMatchObject(is);
  });
});

test("users are asked for once the operator, who it is about to be and root are administrators, and not before", () => {
  const areReady = (given: ClusterSnapshot) => areAdministratorsReady(given, stateOf(given)!);
  expect(areReady(guarded({ state: PREPARED }))).toBe(true);
  const next = { next: "bob", operators: ["bob"] };
  expect(areReady(guarded({ ...next, state: { ...PREPARED, next: ["root"] } }))).toBe(true);
  for (const given of [
    guarded({ user: undefined, state: PREPARED }),
    guarded({ state: { ...PREPARED, operator: ["reader"] } }),
    guarded({ state: { ...PREPARED, root: undefined } }),
    guarded({ state: { ...PREPARED, isRootsPassword: false } }),
    guarded({ ...next, state: PREPARED }),
  ])
    expect(areReady(given)).toBe(false);
});
