// What a client does with openapi-fetch and the types that openapi-typescript has generated as jobs.d.ts. It reads BASE and KEY
// from the environment. tests/e2e/test_generated_clients.py runs it and reads from the history what the service understood.
import createClient from "openapi-fetch";
import type { components, paths } from "./jobs.js";

declare const process: { env: Record<string, string> };

function assert(holds: unknown, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

type Schemas = components["schemas"];

const client = createClient<paths>({
  baseUrl: process.env["BASE"],
  headers: { "API-Key": process.env["KEY"] },
});

const categories = await client.GET("/categories");
const welding = categories.data?.data.find((category) => category.name.includes("Trades"))?.id;
assert(welding !== undefined, "no category of trades");

const created = await client.POST("/jobs", {
  body: {
    referenceId: "W-1",
    title: "Welder",
    confidential: true,
    locations: [{ description: "Sarnia, ON" }],
    categories: [{ id: welding }],
    positionType: { id: 1 },
    salary: { amount: 38.5, period: { id: 5 }, plusCommission: true },
    description: "<p>Steel.</p>",
    applicantRoutingType: { id: 1 },
    applicationEmail: "jobs@harbour.example",
  },
});
assert(created.data?.status === "draft", JSON.stringify(created.error));
const path = { id: created.data.id };

// What is not sent stays: the draft is confidential, the active job active, and the salary as it was.
const changes: Schemas["JobUpdate"][] = [
  { title: "Welder of the night" },
  { status: "active" },
  { title: "Head Welder" },
  { salary: { maxAmount: 47.25 } },
];
for (const body of changes) {
  const changed = await client.PUT("/jobs/{id}", { params: { path }, body });
  assert(changed.data?.confidential, JSON.stringify(changed.error));
}

const read = await client.GET("/jobs/{id}", { params: { path } });
assert(read.data, JSON.stringify(read.error));
assert(read.data.status === "active" && read.data.salary?.amount === 38.5, "it is as it was");
const tag = read.response.headers.get("ETag") ?? "";
const again = await client.PUT("/jobs/{id}", {
  params: { path, header: { "If-Match": tag } },
  body: read.data,
});
assert(again.response.status === 200 && again.response.headers.get("ETag") === tag, JSON.stringify(again.error));

for (const status of [201, 200]) {
  const put = await client.PUT("/jobs", {
    body: {
      referenceId: "W-2",
      title: "Cook",
      locations: [{ description: "Sarnia, ON" }],
      categories: [{ id: welding }],
    },
  });
  assert(put.response.status === status, JSON.stringify(put.error));
}
const partial = await client.PUT("/jobs", { body: { referenceId: "W-2", title: "Line Cook" } });
assert(partial.data, JSON.stringify(partial.error));

const titles: string[] = [];
let next: string | null = null;
do {
  const page: number = next === null ? 1 : Number(new URL(next).searchParams.get("page"));
  const found = await client.GET("/jobs", { params: { query: { q: "W-", pageSize: 1, page } } });
  assert(found.data, JSON.stringify(found.error));
  titles.push(...found.data.data.map((job) => job.title));
  next = found.data.paging.next;
} while (next !== null);
assert(titles.sort().join() === "Head Welder,Line Cook", titles.join());

const refused = await client.PUT("/jobs/{id}", { params: { path }, body: { title: "" } });
assert(refused.error?.code === "validation_failed", JSON.stringify(refused.error));
assert(refused.error.errors?.map((fault) => fault.pointer).join() === "/title", JSON.stringify(refused.error));

for (const id of [path.id, partial.data.id]) {
  const deleted = await client.DELETE("/jobs/{id}", { params: { path: { id } } });
  assert(deleted.response.status === 204, JSON.stringify(deleted.error));
  const gone = await client.GET("/jobs/{id}", { params: { path: { id } } });
  assert(gone.error?.code === "not_found", "it is there");
  console.log(id);
}
