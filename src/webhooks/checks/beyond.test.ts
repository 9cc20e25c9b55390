import { describe, expect, test } from "vitest";
import { TOO_LARGE } from "#api/beyond.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import type { KubeClient } from "#kube/client.ts";
import { beyondFindings } from "#webhooks/checks/beyond.ts";
import { clusterAdmission } from "#webhooks/cluster-admission.ts";

const settled = cluster().cluster;

function marked(text: string | undefined, bytes = 0) {
  const annotations = text === undefined ? {} : { [BEYOND]: text };
  const podTemplate = bytes === 0 ? {} : { spec: { x: "x".repeat(bytes) } };
  return { ...settled, metadata: { ...settled.metadata, annotations }, spec: { ...settled.spec, podTemplate } };
}

describe("the annotation with v1beta1 fields that v1alpha1 lacks", () => {
  test.each([
    ["{", "it is no JSON object; it must be what a conversion has written; leave it as it was read"],
    ['{"paused":"maybe"}', 'its fields do not fit v1beta1: spec.paused is "maybe"; it must be a boolean; leave it'],
    ['{"paused":true}', "it is written by conversions alone; leave it as it was read"],
    [
      TOO_LARGE,
      "v1alpha1 does not show all fields of this EtcdCluster, and writing it would drop the rest; write v1beta1",
    ],
  ])("is refused when an edit of a v1beta1 object adds or changes it to %s", (text, words) => {
    for (const before of [undefined, marked(undefined), marked("other")]) {
      const { refusals } = beyondFindings(marked(text), before);
      expect(refusals).toEqual([{ field: `metadata.annotations[${BEYOND}]`, message: expect.stringContaining(words) }]);
    }
  });

  test("is accepted when it is unchanged or removed", () => {
    for (const text of ["{", TOO_LARGE, undefined])
      expect(beyondFindings(marked(text), marked(text ?? "{"))).toEqual({ refusals: [], warnings: [] });
  });
});

describe("an object too large for v1alpha1", () => {
  test("is refused when an edit makes it so, and accepted when it was so before", () => {
    const [small, large, larger] = [0, 300_000, 400_000].map((bytes) => marked(undefined, bytes));
    const message = expect.stringContaining("v1alpha1 could not show the object");
    for (const before of [undefined, small])
      expect(beyondFindings(large!, before).refusals).toEqual([{ field: "spec", message }]);
    expect(beyondFindings(larger!, large).refusals).toEqual([]);
    expect(beyondFindings(small!, large)).toEqual({ refusals: [], warnings: [] });
  });

  test("gets a warning from 100 kB on, when an edit crosses that size", () => {
    const warnings = [
      expect.stringContaining("spec has 120 kB in fields that v1alpha1 does not have; above 100 kB members may not"),
    ];
    expect(beyondFindings(marked(undefined, 120_000), undefined)).toEqual({ refusals: [], warnings });
    expect(beyondFindings(marked(undefined, 120_000), marked(undefined, 120_000)).warnings).toEqual([]);
    expect(beyondFindings(marked(undefined, 90_000), undefined).warnings).toEqual([]);
  });
});

test("is refused or warned of in the webhook's response", async () => {
  const kube = { create: () => Promise.reject(new Error("tried")), list: () => Promise.resolve({ items: [] }) };
  const tools = {
    kube: kube as unknown as KubeClient,
    imageRepository: "registry.example/etcd",
    clock: systemClock,
    log: silentLog,
  };
  const kind = { group: "etcd.improbable.io", version: "v1beta1", kind: "EtcdCluster" };
  const request = { uid: "1", kind, operation: "UPDATE", object: marked("{"), oldObject: marked(undefined) };
  const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
  const answer = await clusterAdmission(tools).answer(review, new AbortController().signal);
  const causes = [expect.objectContaining({ field: `metadata.annotations[${BEYOND}]` })];
  expect(answer).toMatchObject({ response: { allowed: false, status: { code: 422, details: { causes } } } });
  const large = { ...review, request: { ...request, object: marked(undefined, 120_000) } };
  const warned = await clusterAdmission(tools).answer(large, new AbortController().signal);
  expect(warned).toMatchObject({ response: { allowed: true, warnings: [expect.stringContaining("120 kB")] } });
});
