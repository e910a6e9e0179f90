// Shows openapi.json: the paths with what they take and give, then the types.

const root = document.getElementById("docs");
const spec = await (await fetch("/openapi.json")).json();

function element(tag, text, ...children) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function kind(schema = {}) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map(kind).join(" | ");
  if (schema.type === "array") return `[${kind(schema.items)}]`;
  const limits = Object.entries(schema).filter(([name]) => /^(max|min|exclusive)/.test(name));
  return [schema.type ?? "any", ...limits.map(([name, value]) => `${name} ${value}`)].join(", ");
}

const body = (part) => kind(part?.content?.["application/json"]?.schema);

for (const [path, methods] of Object.entries(spec.paths)) {
  for (const [method, about] of Object.entries(methods)) {
    const takes = about.requestBody ? `takes ${body(about.requestBody)}, ` : "";
    root.append(element("section", "", element("h2", `${method.toUpperCase()} ${path}`), element("p", about.description),
      element("p", `${takes}gives ${body(about.responses["200"])}`)));
  }
}

for (const [name, schema] of Object.entries(spec.components.schemas)) {
  const rows = Object.entries(schema.properties ?? {}).map(([key, value]) => element("tr", "",
    element("td", key), element("td", kind(value)), element("td", value.description)));
  root.append(element("section", "", element("h3", name), element("p", schema.description), element("table", "", ...rows)));
}
