import { expect, test } from "vitest";
import { ROTATE_CA_ANNOTATIONS, ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import { rotationRequest } from "#api/rotation-request.ts";
import { etcdUser } from "#kit/snapshots/access.ts";
import { cluster } from "#kit/snapshots/cluster.ts";

const BOTH = { "etcd.improbable.io/rotate-peer-ca": "1", "etcd.improbable.io/rotate-client-ca": "2" };
test.each([
  ["no annotation", {}, [undefined, undefined]],
  ["both annotations", BOTH, ["1", "2"]],
  ["an annotation for peers", { "etcd.improbable.io/rotate-peer-ca": "2027-01-31" }, ["2027-01-31", undefined]],
  ["an empty annotation", { "etcd.improbable.io/rotate-client-ca": "" }, [undefined, undefined]],
  ["253 characters", { "etcd.improbable.io/rotate-client-ca": "x".repeat(253) }, [undefined, "x".repeat(253)]],
  [
    "half of a character at the end",
    { "etcd.improbable.io/rotate-peer-ca": `${"x".repeat(252)}😀` },
    [`${"x".repeat(252)}\ufffd`, undefined],
  ],
  ["254 characters", { "etcd.improbable.io/rotate-client-ca": "x".repeat(254) }, [undefined, "x".repeat(253)]],
])("the CA rotations that %s request", (_, annotations, requests) => {
  const { peer, client } = ROTATE_CA_ANNOTATIONS;
  const { cluster: asking } = cluster({ annotations });
  expect([rotationRequest(asking, peer), rotationRequest(asking, client)]).toEqual(requests);
});

test.each([
  ["no annotation", {}, undefined],
  ["an annotation", { [ROTATE_CREDENTIALS_ANNOTATION]: "1" }, "1"],
  ["an empty annotation", { [ROTATE_CREDENTIALS_ANNOTATION]: "" }, undefined],
])("the rotation of credentials that %s requests", (_, annotations, request) => {
  expect(rotationRequest(etcdUser({ annotations }), ROTATE_CREDENTIALS_ANNOTATION)).toBe(request);
});
