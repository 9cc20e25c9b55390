/** Whether one of the two paths leads to the other one. @param path as somebody has written it, may be anything */
export function leadsTo(path: unknown, place: string): boolean {
  if (typeof path !== "string") return false;
  const [mount, data] = [partsOf(path), partsOf(place)];
  const common = Math.min(mount.length, data.length);
  return mount.slice(0, common).join("/") === data.slice(0, common).join("/");
}

/** The kubelet takes a path from the root on, however it is written. */
function partsOf(path: string): readonly string[] {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts;
}
