import { existsSync } from "node:fs";
import { buildTitle, mainBinary, missingBuilds } from "./components.ts";
import { CLUSTER_HEALTHY, KEY_READ, OPERATOR_DEPLOYED } from "./deploy.ts";
import { IMAGES_WRITTEN, imageArchives } from "./images.ts";
import type { Planned } from "./journey.ts";
import { COMPONENTS, KUBERNETES_RUNS } from "./local/cluster.ts";
import { STORE_MADE, storeFolder } from "./local/image-store.ts";
import { ARCHIVE_LOADED } from "./local/nodes.ts";
import { OPERATOR_IMAGE } from "./operator-image.ts";
import { missingRunPackages, PACKAGES_INSTALLED } from "./packages.ts";
import { type ComponentName, RECIPES } from "./recipes.ts";
import { DEFAULT_ETCD_VERSION } from "./versions.ts";

/** Seconds that the build of each Go module takes on two processors, downloads included. */
const BUILD_SECONDS: Readonly<Record<string, number>> = {
  kubernetes: 345,
  "etcd-3.6.16": 33,
  containerd: 60,
  runc: 13,
  cni: 4,
  coredns: 63,
  pause: 1,
};

export const KIND_LOADED = "image loaded into kind";

/** Steps of `npm start` on this machine, in their order. Results that exist already need no step. */
export function localPlan(): Planned[] {
  const archives = imageArchives([DEFAULT_ETCD_VERSION]);
  const builds = missingBuilds<ComponentName>(COMPONENTS);
  const isWritten = archives.every(({ file }) => existsSync(file));
  const isUnpacked = existsSync(storeFolder(mainBinary("containerd"), archives));
  return [
    ...planned(missingRunPackages().length > 0, PACKAGES_INSTALLED, 5),
    ...builds.map((group) => ({
      title: buildTitle(group),
      typicalSeconds: BUILD_SECONDS[RECIPES[group[0] as ComponentName].module] ?? 60,
    })),
    ...planned(!isWritten, IMAGES_WRITTEN, 2),
    ...planned(!isUnpacked, STORE_MADE, 5),
    ...planned(true, KUBERNETES_RUNS, 12),
    ...planned(true, OPERATOR_IMAGE, 4),
    ...planned(true, ARCHIVE_LOADED, 7),
    ...deployment(),
  ];
}

/** Steps of `npm start -- --kubeconfig FILE`. @param forKind whether the image is built and loaded into kind */
export function givenPlan(forKind: boolean): Planned[] {
  return [...planned(forKind, OPERATOR_IMAGE, 4), ...planned(forKind, KIND_LOADED, 10), ...deployment()];
}

function deployment(): Planned[] {
  return [...planned(true, OPERATOR_DEPLOYED, 6), ...planned(true, CLUSTER_HEALTHY, 6), ...planned(true, KEY_READ, 2)];
}

function planned(isNeeded: boolean, title: string, typicalSeconds: number): Planned[] {
  return isNeeded ? [{ title, typicalSeconds }] : [];
}
