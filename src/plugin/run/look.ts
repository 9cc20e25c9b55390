import { OPERATOR } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { type Context, isValue, outputOf, type Run, writeLines, writeValue } from "../context.ts";
import { itemsAt, textAt, type Values } from "../fields.ts";
import { DEPLOYMENTS, ETCD_CLUSTERS, OWN_KINDS } from "../kinds.ts";
import type { ClusterPicture, Many } from "../picture.ts";
import { Reader, whyNot } from "../read.ts";
import { listScreen } from "../screens/list.ts";
import { orphansIn, orphansScreen } from "../screens/orphans.ts";
import { STATUS_WIDTH, statusScreen } from "../screens/status.ts";
import { type Versions, versionScreen, versionsAsValue } from "../screens/version.ts";
import { reportOf, WHY_WIDTH, whyScreen } from "../screens/why.ts";
import { clean } from "../text.ts";
import { EXIT_CODES, stateOf, worstOf } from "../verdict.ts";

/** Selects what the operator is deployed as. */
const OPERATOR_SELECTOR = `app.kubernetes.io/name=${OPERATOR}`;
const LARGEST_VALUE = 10_000;

export const list: Run = async (context) => {
  const { client, namespace } = context.connect();
  const reader = new Reader(client, context.signal);
  const isAll = context.input.given.has("all-namespaces");
  const where = isAll ? {} : { namespace };
  const clusters = must(await reader.many(ETCD_CLUSTERS, where), "The EtcdClusters");
  if (context.input.given.has("orphans")) {
    const claims = must(await reader.many(PERSISTENT_VOLUME_CLAIMS, where), "The claims, for --orphans,");
    const orphans = orphansIn(claims, clusters);
    if (isValue(context)) await writeValue(context, { items: orphans.slice(0, LARGEST_VALUE) });
    else if (orphans.length === 0) context.write("No claim with data is without its cluster.\n");
    else writeLines(context, orphansScreen(orphans, context.nowMs()));
    return EXIT_CODES.well;
  }
  const exitCode = EXIT_CODES[worstOf(clusters.map(stateOf))];
  if (isValue(context))
    await writeValue(context, { items: clusters.map((each) => ({ state: stateOf(each), cluster: each })) });
  else if (clusters.length === 0)
    context.write(isAll ? "There is no EtcdCluster.\n" : `There is no EtcdCluster in namespace ${namespace}.\n`);
  else {
    const options = { nowMs: context.nowMs(), hasNamespaces: isAll, isWide: outputOf(context) === "wide" };
    writeLines(context, listScreen(clusters, options));
  }
  return exitCode;
};

export const status: Run = async (context) => {
  const picture = await pictureFor(context);
  const exitCode = EXIT_CODES[stateOf(picture.cluster)];
  if (isValue(context)) await writeValue(context, reportOf(picture, exitCode));
  else writeLines(context, statusScreen(picture), outputOf(context) === "wide" ? undefined : STATUS_WIDTH);
  return exitCode;
};

export const why: Run = async (context) => {
  const picture = await pictureFor(context);
  const exitCode = EXIT_CODES[stateOf(picture.cluster)];
  if (isValue(context)) await writeValue(context, reportOf(picture, exitCode));
  else writeLines(context, whyScreen(picture), WHY_WIDTH);
  return exitCode;
};

export const version: Run = async (context) => {
  const versions = await versionsFor(context);
  if (isValue(context)) await writeValue(context, versionsAsValue(versions));
  else writeLines(context, versionScreen(versions));
  return EXIT_CODES.well;
};

/** @throws OperatorError when the cluster does not exist or cannot be read */
async function pictureFor(context: Context): Promise<ClusterPicture> {
  const { client, namespace } = context.connect();
  const name = context.input.names[0] ?? "";
  const isWide = outputOf(context) === "wide";
  const found = await new Reader(client, context.signal).picture({ namespace, name }, context.nowMs(), isWide);
  if (found.is === "present") return found.value;
  const sentence =
    found.is === "absent"
      ? `There is no EtcdCluster ${name} in namespace ${namespace}.`
      : `EtcdCluster ${name} in namespace ${namespace} cannot be read: ${found.why}`;
  throw new OperatorError(found.is === "absent" ? "KubeNotFound" : "KubeUnavailable", sentence);
}

function must(many: Many, what: string): readonly Values[] {
  if (many.is === "present") return many.value;
  const why = many.is === "absent" ? "the API server does not serve them: is the operator installed?" : many.why;
  throw new OperatorError("KubeUnavailable", `${what} cannot be read: ${why}`);
}

async function versionsFor(context: Context): Promise<Versions> {
  const { client } = context.connect();
  const { signal } = context;
  const reader = new Reader(client, signal);
  const json = async (path: string): Promise<Values | string> => {
    try {
      return JSON.parse(await client.raw("GET", path, { signal })) as Values;
    } catch (thrown) {
      return `cannot be read: ${whyNot(thrown)}`;
    }
  };
  const { group, version: served } = ETCD_CLUSTERS;
  const [kubernetes, versions, kinds, operators] = await Promise.all([
    json("/version"),
    json(`/apis/${group}`),
    json(`/apis/${group}/${served}`),
    reader.many(DEPLOYMENTS, { labelSelector: OPERATOR_SELECTOR }),
  ]);
  const plurals =
    typeof kinds === "string" ? undefined : itemsAt(kinds, "resources").map((each) => textAt(each, "name"));
  return {
    plugin: context.version,
    kubernetes: typeof kubernetes === "string" ? kubernetes : textAt(kubernetes, "gitVersion"),
    operator: operators.is === "unknown" ? `cannot be read: ${operators.why}` : imagesOf(operators),
    served:
      typeof versions === "string" ? versions : itemsAt(versions, "versions").map((each) => textAt(each, "version")),
    missingKinds:
      plurals === undefined ? [] : OWN_KINDS.map(({ plural }) => plural).filter((each) => !plurals.includes(each)),
  };
}

function imagesOf(deployments: Many): readonly string[] {
  if (deployments.is !== "present") return [];
  const images = deployments.value.flatMap((each) =>
    itemsAt(each, "spec", "template", "spec", "containers").map((container) => clean(container.image, 120)),
  );
  return [...new Set(images)];
}
