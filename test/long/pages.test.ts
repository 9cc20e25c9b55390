import { afterEach, beforeEach, expect, test } from "vitest";
import { kubectl } from "#kit/e2e/e2e.ts";
import { typePage } from "#kit/e2e/page-run.ts";
import { pagesOf } from "#kit/pages/pages.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// The commands of pages that move much data or change the operator, one page after another.

const OPERATOR = ["-n", OPERATOR_NAMESPACE, "deployment/etcd-cluster-operator"];

interface Deployed {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] } };
  };
}

let deployed: Deployed["spec"];

beforeEach(async () => {
  deployed = (await kubectl.json<Deployed>(["get", ...OPERATOR])).spec;
});

afterEach(async () => {
  const { replicas, template } = deployed;
  const args = {
    op: "replace",
    path: "/spec/template/spec/containers/0/args",
    value: template.spec.containers[0]?.args,
  };
  const patch = [{ op: "replace", path: "/spec/replicas", value: replicas }, args];
  await kubectl.run(["patch", ...OPERATOR, "--type=json", "-p", JSON.stringify(patch)]);
  await kubectl.run(["rollout", "status", ...OPERATOR, "--timeout=5m"]);
});

test.each(pagesOf("long"))("every command of %s succeeds, in the order of the page", async (path, page) => {
  expect(await typePage(path, page)).toContain("after the page");
});
