import { OPERATOR } from "#api/names.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { record } from "#base/json.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import type { Connection } from "../connect.ts";
import { type Context, isValue, outputOf, type Run, writeLines, writeValue } from "../context.ts";
import { itemsAt, namespaceOf, textAt, type Values } from "../fields.ts";
import { DEPLOYMENTS, ETCD_CLUSTERS, OWN_KINDS } from "../kinds.ts";
import type { ClusterPicture, Many } from "../picture.ts";
import { Reader, whyNot } from "../read.ts";
import { listScreen } from "../screens/list.ts";
import { orphansIn, orphansScreen } from "../screens/orphans.ts";
import { STATUS_WIDTH, statusScreen } from "../screens/status.ts";
import {
  type OperatorImage,
  type Versions,
  versionExitCode,
  versionScreen,
  versionsAsValue,
} from "../screens/version.ts";
import { reportOf, WHY_WIDTH, whyScreen } from "../screens/why.ts";
import { clean } from "../text.ts";
import { EXIT_CODES, stateOf, worstOf } from "../verdict.ts";

/** Selects what the operator is deployed as. */
const OPERATOR_SELECTOR = `app.kubernetes.io/name=${OPERATOR}`;

export const list: Run = async (context) => {
  const { client, namespace } = context.connect();
  const reader = new Reader(client, context.signal);
  const isAll = context.input.given.has("all-namespaces");
  const where = isAll ? {} : { namespace };
  const isOrphans = context.input.given.has("orphans");
  // Claims first: a cluster that is created between the two reads then keeps its claims.
  const claims = isOrphans ? await reader.many(PERSISTENT_VOLUME_CLAIMS, where) : absent;
  const clusters = must(await reader.many(ETCD_CLUSTERS, where), "The EtcdClusters");
  if (isOrphans) {
    const orphans = orphansIn(must(claims, "The claims, for --orphans,"), clusters);
    if (isValue(context)) await writeValue(context, { items: orphans });
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
  return versionExitCode(versions);
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
  const { signal } = context;
  let connection: Connection;
  try {
    connection = context.connect();
  } catch (thrown) {
    if (!hasCode(thrown, "InvalidConfig")) throw thrown;
    const why = unknown(clean((thrown as Error).message));
    return { plugin: context.version, kubernetes: why, operator: why, served: why, missingKinds: why };
  }
  const { client, namespace } = connection;
  const reader = new Reader(client, signal);
  const json = async (path: string): Promise<Observed<Values>> => {
    try {
      return present(record(JSON.parse(await client.raw("GET", path, { signal }))));
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return unknown(`the answer to ${path} is not JSON`);
      return hasCode(thrown, "KubeNotFound") ? absent : unknown(whyNot(thrown));
    }
  };
  const where = context.input.texts.namespace === undefined ? {} : { namespace };
  const { group, version: served } = ETCD_CLUSTERS;
  const [kubernetes, versions, kinds, operators] = await Promise.all([
    json("/version"),
    json(`/apis/${group}`),
    json(`/apis/${group}/${served}`),
    reader.many(DEPLOYMENTS, { ...where, labelSelector: OPERATOR_SELECTOR }),
  ]);
  return {
    plugin: context.version,
    kubernetes: mapped(kubernetes, (each) => textAt(each, "gitVersion")),
    operator: mapped(operators, imagesOf),
    served: mapped(versions, (each) => itemsAt(each, "versions").map((version) => textAt(version, "version"))),
    missingKinds: missingIn(kinds),
  };
}

function mapped<T, R>(observed: Observed<T>, of: (value: T) => R): Observed<R> {
  return observed.is === "present" ? present(of(observed.value)) : observed;
}

/** Kinds that this plugin needs and the API server does not serve; all when it does not serve the version. */
function missingIn(kinds: Observed<Values>): Observed<readonly string[]> {
  if (kinds.is === "unknown") return kinds;
  const served = kinds.is === "absent" ? [] : itemsAt(kinds.value, "resources").map((each) => textAt(each, "name"));
  return present(OWN_KINDS.map(({ plural }) => plural).filter((each) => !served.includes(each)));
}

/** Images of the Deployments, each with its namespace: a tenant that may create Deployments can set the label. */
function imagesOf(deployments: readonly Values[]): readonly OperatorImage[] {
  const images = deployments.flatMap((each) =>
    itemsAt(each, "spec", "template", "spec", "containers").map((container) => ({
      namespace: namespaceOf(each),
      image: clean(container.image, 120),
    })),
  );
  return [...new Map(images.map((each) => [`${each.namespace} ${each.image}`, each])).values()];
}
