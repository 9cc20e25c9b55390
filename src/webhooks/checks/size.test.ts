import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { sizeRefusals } from "#webhooks/checks/size.ts";

const withText = (characters: number) =>
  ({
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    metadata: { namespace: "shop", name: "my-etcd" },
    spec: { podTemplate: { spec: { text: "x".repeat(characters) } } },
  }) as unknown as EtcdCluster;

test("an EtcdCluster is refused when its spec is larger than the operator reads", () => {
  expect(sizeRefusals(withText(131_000))).toEqual([]);
  expect(sizeRefusals(withText(131_072))).toEqual([
    {
      field: "spec",
      message:
        "EtcdCluster shop/my-etcd is too large: its spec has 131109 characters, most of them in podTemplate.spec; at most 131072 are read. The operator leaves it and what belongs to it as it is. Make it smaller.",
    },
  ]);
});
