import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { guarded, LOCKED_OUT, NO_USERS, PREPARED } from "#kit/snapshots/cluster-auth.ts";
import { areAdministratorsReady, hindranceOf, stateOf } from "./hindrance.ts";

// Reasons why etcd's users are not as specified; their report: auth-ready.test.ts.

const ISSUER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ours" } } } };
const unlike = { trouble: "its username is empty; it must be root" };

const cases: { name: string; given: ClusterSnapshot; is: object | undefined }[] = [
  {
    name: "nothing when spec.auth is unset and the operator is no administrator",
    given: guarded({ wanted: undefined, state: LOCKED_OUT }, ISSUER),
    is: undefined,
  },
  {
    name: "nothing when spec.auth.enabled is false and the Secret of root is invalid",
    given: guarded({ wanted: false, secret: unlike }),
    is: undefined,
  },
  {
    name: "RootSecretInvalid when the Secret of root is invalid",
    given: guarded({ secret: unlike }),
    is: { reason: "RootSecretInvalid" },
  },
  {
    name: "AuthPending when the operator's certificate has not been read yet",
    given: guarded({ user: undefined, state: NO_USERS }),
    is: { reason: "AuthPending", message: "Secret my-etcd-operator-tls is being read", isForPeople: false },
  },
  {
    name: "NotAdministrator when the operator is no administrator and its certificate has not been read",
    given: guarded({ user: undefined, state: LOCKED_OUT }, ISSUER),
    is: { reason: "NotAdministrator", isForPeople: true },
  },
  {
    name: "nothing when the operator is an administrator and another issuer signs its certificate",
    given: guarded({}, ISSUER),
    is: undefined,
  },
  {
    name: "AuthPending when members do not verify clients yet",
    given: { ...guarded({ state: PREPARED }), pods: new Map() },
    is: { reason: "AuthPending", isForPeople: false },
  },
  {
    name: "nothing when authentication is on and members do not verify clients",
    given: { ...guarded(), pods: new Map() },
    is: undefined,
  },
];

describe("hindranceOf reports", () => {
  test.each(cases)("$name", ({ given, is }) => {
    const hindrance = hindranceOf(given);
    if (is === undefined) expect(hindrance).toBeUndefined();
    else expect(hindrance).toMatchObject(is);
  });
});

test("administrators are ready only when the operator, its next user and root have the role", () => {
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
