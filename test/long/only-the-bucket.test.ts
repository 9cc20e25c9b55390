import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { typePage } from "#kit/e2e/page-run.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";

// The drill: a namespace with a cluster and its EtcdBackups is lost. A person with the bucket and the key follows the
// page, in an empty namespace.

const PAGE = "docs/only-the-bucket-is-left.md";
const KEY = "0123456789abcdef".repeat(4);

let store: Versitygw;
/** How pods reach the store: through the first node's gateway. */
let endpoint: string;

beforeAll(async () => {
  store = await startVersitygw({ host: "0.0.0.0" });
  store.bucket("backups");
  endpoint = `http://10.88.1.1:${store.port}`;
});
afterAll(async () => await store?.stop());

/** Makes two encrypted backups of a cluster, and deletes everything but the bucket. */
async function loseAllButTheBucket(): Promise<void> {
  const namespace = await testNamespace("lost");
  const cluster = new UserCluster(namespace.name);
  const backups = new UserBackups(cluster);
  await cluster.create({ replicas: 1 });
  await backups.secret("s3", { AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: S3_ACCESS.secret });
  await backups.secret("backup-key", { key: KEY });
  await cluster.untilReady();
  const credentials = { secretName: "s3" };
  const spec = {
    source: { cluster: { name: cluster.name } },
    destination: {
      s3: { bucket: "backups", prefix: "prod", endpoint, region: "us-east-1", pathStyle: true, credentials },
    },
    compression: "Zstd" as const,
    encryption: { keySecretRef: { name: "backup-key" } },
  };
  for (const [name, value] of [
    ["first", "old"],
    ["second", "new"],
  ] as const) {
    await cluster.etcdctl("my-etcd-0", "put", "greeting", value);
    await backups.backUp(name, spec);
    await backups.until(name, "Completed");
  }
  await kubectl.run(["delete", "namespace", namespace.name, "--timeout=4m"]);
}

/** What the reader has and edits before the first command. */
function readerOf(): string {
  const inYAML = `region: us-east-1\\n\\1endpoint: ${endpoint}\\n\\1pathStyle: true`;
  const inJSON = `"region": "us-east-1", "endpoint": "${endpoint}", "pathStyle": true`;
  return [
    `export AWS_ACCESS_KEY_ID='${S3_ACCESS.id}' AWS_SECRET_ACCESS_KEY='${S3_ACCESS.secret}'`,
    `printf '%s' ${KEY} > backup.key`,
    `sed -i 's|^\\( *\\)region: eu-west-1.*|\\1${inYAML}|' examples/*.yaml`,
    `sed -i 's|"region": "eu-west-1"|${inJSON}|' examples/list-backups.yaml`,
  ].join("\n");
}

test("the newest data is back, and backed up again, by the commands of the page", async () => {
  await loseAllButTheBucket();
  const after = "kubectl exec rs/my-etcd-0 -c etcd -- etcdctl get greeting --print-value-only";
  const text = await typePage(PAGE, { lane: "own", before: readerOf(), after });
  expect(text).toMatch(/whole +lost-\w+\/my-etcd .* prod\/lost-/);
  expect(text.trimEnd().split("\n").at(-1)).toBe("new");
});
