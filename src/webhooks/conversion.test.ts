import { describe, expect, test } from "vitest";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, CONVERSION_PATH } from "#api/names.ts";
import { type Log, silentLog } from "#base/log.ts";
import { answerConversion, conversion } from "#webhooks/conversion.ts";

const ALPHA = "etcd.improbable.io/v1alpha1";
const BETA = "etcd.improbable.io/v1beta1";
const logged: string[] = [];
const log: Log = { ...silentLog, info: (fields) => void logged.push(JSON.stringify(fields)) };

function cluster(name: string, apiVersion: string, spec: object, annotations?: object): object {
  const metadata = { namespace: "foo", name, uid: `uid-of-${name}`, ...(annotations && { annotations }) };
  return { apiVersion, kind: "EtcdCluster", metadata, spec, status: { readyMembers: "3/3" } };
}

function review(desiredAPIVersion: unknown, objects: unknown, uid: unknown = "1"): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "ConversionReview",
    request: { uid, desiredAPIVersion, objects },
  };
}

interface Response {
  readonly uid: string;
  readonly convertedObjects: readonly Readonly<Record<string, unknown>>[];
  readonly result: { readonly status: string; readonly message?: string };
}

function answered(body: object): Response {
  const answer = answerConversion(body, log) as { apiVersion: string; kind: string; response: Response };
  expect(answer).toMatchObject({ apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" });
  return answer.response;
}

describe("a conversion request returns", () => {
  const storage = {
    volumeClaimTemplate: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "8Gi" } } },
  };

  test("objects of any version in their order in the requested version", () => {
    const objects = [cluster("a", ALPHA, { replicas: 3, storage }), cluster("b", BETA, { replicas: 5, paused: true })];
    const up = answered(review(BETA, objects, "my-uid"));
    expect(up).toMatchObject({ uid: "my-uid", result: { status: "Success" } });
    expect(up.convertedObjects).toMatchObject([
      {
        apiVersion: BETA,
        metadata: { name: "a", uid: "uid-of-a" },
        spec: { storage: { size: "8Gi" } },
        status: { readyMembers: "3/3" },
      },
      objects[1]!,
    ]);
    const down = answered(review(ALPHA, objects));
    expect(down.convertedObjects[0]).toEqual(objects[0]);
    expect(down.convertedObjects[1]).toMatchObject({
      apiVersion: ALPHA,
      metadata: { name: "b", annotations: { [BEYOND]: '{"paused":true,"tls":null}' } },
      spec: { replicas: 5 },
    });
  });

  test("an empty list for an empty list", () => {
    expect(answered(review(BETA, []))).toMatchObject({ convertedObjects: [], result: { status: "Success" } });
  });

  test("other objects converted when one has an invalid annotation", () => {
    const objects = [
      cluster("bad", ALPHA, { replicas: 3 }, { [BEYOND]: "{" }),
      cluster("good", ALPHA, { replicas: 3 }),
    ];
    const { result, convertedObjects } = answered(review(BETA, objects));
    expect(result).toEqual({ status: "Success" });
    expect(convertedObjects[0]).toMatchObject({ apiVersion: BETA, metadata: { annotations: { [BEYOND]: "{" } } });
    expect(convertedObjects[1]).toMatchObject({ apiVersion: BETA, metadata: { name: "good" } });
  });

  test("objects that no schema allows", () => {
    const odd = [null, "text", 5, [], { storage: "much", podTemplate: 7, previous: [] }];
    for (const spec of odd) {
      const { result } = answered(review(BETA, [cluster("odd", ALPHA, spec as object)]));
      expect(result, JSON.stringify(spec)).toEqual({ status: "Success" });
    }
  });
});

describe("an object that cannot be converted", () => {
  const good = cluster("good", ALPHA, { replicas: 3 });
  const cases: readonly { what: string; object: unknown; says: string }[] = [
    {
      what: "of an unknown version",
      object: cluster("old", "etcd.improbable.io/v1", {}),
      says: `EtcdCluster foo/old: apiVersion is "etcd.improbable.io/v1"; it must be ${ALPHA} or ${BETA}`,
    },
    {
      what: "of another kind",
      object: { ...good, kind: "Pod" },
      says: 'Pod foo/good: kind is "Pod"; it must be EtcdCluster or EtcdPeer',
    },
    {
      what: "without metadata",
      object: { ...good, metadata: null },
      says: "object 1: metadata is null; it must be an object",
    },
    { what: "that is a text", object: "good", says: 'object 1: request.objects[1] is "good"; it must be an object' },
    { what: "that is null", object: null, says: "object 1: request.objects[1] is null; it must be an object" },
  ];

  test.each(cases)("$what fails the request, with its name and field in the message", ({ object, says }) => {
    logged.length = 0;
    const { uid, convertedObjects, result } = answered(review(BETA, [good, object], "u"));
    expect({ uid, convertedObjects, status: result.status }).toEqual({
      uid: "u",
      convertedObjects: [],
      status: "Failure",
    });
    expect(result.message).toContain(says);
    expect(logged).toHaveLength(1);
  });

  test.each([
    ["another body", { kind: "Pod" }, "apiVersion is missing; it must be apiextensions.k8s.io/v1"],
    ["another kind of review", { ...review(BETA, []), kind: "AdmissionReview" }, 'kind is "AdmissionReview"'],
    ["an empty uid", review(BETA, [], ""), 'request.uid is ""; it must be a string'],
    ["no list of objects", review(BETA, {}), "request.objects is {}; it must be a list"],
    ["no requested version", review(undefined, []), "request.desiredAPIVersion is missing; it must be a string"],
    [
      "a requested version of another group",
      review("apps/v1", []),
      `request.desiredAPIVersion is "apps/v1"; it must be ${ALPHA} or ${BETA}`,
    ],
  ])("a request with %s is refused", async (_what, body, says) => {
    const failure = await Promise.resolve()
      .then(() => answerConversion(body, log))
      .catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "InvalidSpec", message: expect.stringContaining(says) });
  });
});

test("the conversion webhook has the path in the definitions", () => {
  const webhook = conversion(() => Promise.reject(new Error("not asked")));
  expect(webhook.path).toBe(CONVERSION_PATH);
});
