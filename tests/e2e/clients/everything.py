"""A program that does everything with ``jobs_client``, which openapi-python-client has made. It reads BASE and KEY from the
environment.

tests/e2e/test_generated_clients.py runs it and reads from the history what the service understood."""

import os

from jobs_client import AuthenticatedClient
from jobs_client.api.catalogues import list_categories
from jobs_client.api.jobs import create_job, delete_job, get_job, list_jobs, put_job, update_job
from jobs_client.models import (
    ApplicantRoutingTypeInput,
    CategoryInput,
    CategoryList,
    Job,
    JobCreate,
    JobHeaderList,
    JobPut,
    JobStatus,
    JobUpdate,
    LocationInput,
    PositionTypeInput,
    Problem,
    SalaryInput,
    SalaryPeriodInput,
)
from jobs_client.types import Unset

client = AuthenticatedClient(
    base_url=os.environ["BASE"], token=os.environ["KEY"], prefix="", auth_header_name="API-Key"
)

categories = list_categories.sync(client=client)
assert isinstance(categories, CategoryList)
welding = next(category.id for category in categories.data if "Trades" in category.name)

created = create_job.sync(
    client=client,
    body=JobCreate(
        reference_id="W-1",
        title="Welder",
        confidential=True,
        locations=[LocationInput(description="Sarnia, ON")],
        categories=[CategoryInput(id=welding)],
        position_type=PositionTypeInput(id=1),
        salary=SalaryInput(amount=38.5, period=SalaryPeriodInput(id=5), plus_commission=True),
        description="<p>Steel.</p>",
        applicant_routing_type=ApplicantRoutingTypeInput(id=1),
        application_email="jobs@harbour.example",
    ),
)
assert isinstance(created, Job)
assert created.status is JobStatus.DRAFT

# Members that are not sent stay: the draft is confidential, the active job active, and the salary as it was.
for change in (
    JobUpdate(title="Welder of the night"),
    JobUpdate(status=JobStatus.ACTIVE),
    JobUpdate(title="Head Welder"),
    JobUpdate(salary=SalaryInput(max_amount=47.25)),
):
    changed = update_job.sync(created.id, client=client, body=change)
    assert isinstance(changed, Job), changed
    assert changed.confidential

read = get_job.sync_detailed(created.id, client=client)
assert isinstance(read.parsed, Job)
assert read.parsed.status is JobStatus.ACTIVE
assert read.parsed.salary is not None
assert (read.parsed.salary.amount, read.parsed.salary.plus_commission) == (38.5, True)
whole = JobUpdate.from_dict(read.parsed.to_dict())
again = update_job.sync_detailed(created.id, client=client, body=whole, if_match=read.headers["ETag"])
assert again.status_code == 200
assert again.headers["ETag"] == read.headers["ETag"]

for status in (201, 200):
    body = JobPut(
        reference_id="W-2",
        title="Cook",
        locations=[LocationInput(description="Sarnia, ON")],
        categories=[CategoryInput(id=welding)],
    )
    put = put_job.sync_detailed(client=client, body=body)
    assert put.status_code == status
    assert isinstance(put.parsed, Job)
partial = put_job.sync(client=client, body=JobPut(reference_id="W-2", title="Line Cook"))
assert isinstance(partial, Job)

titles = []
page = list_jobs.sync(client=client, q="W-", page_size=1)
while True:
    assert isinstance(page, JobHeaderList), page
    titles += [job.title for job in page.data]
    if page.paging.next_ is None:
        break
    page = JobHeaderList.from_dict(client.get_httpx_client().get(page.paging.next_).json())
assert sorted(titles) == ["Head Welder", "Line Cook"]

refused = update_job.sync(created.id, client=client, body=JobUpdate(title=""))
assert isinstance(refused, Problem)
assert refused.code == "validation_failed"
assert not isinstance(refused.errors, Unset)
assert [fault.pointer for fault in refused.errors] == ["/title"]

for job_id in (created.id, partial.id):
    assert delete_job.sync_detailed(job_id, client=client).status_code == 204
    gone = get_job.sync(job_id, client=client)
    assert isinstance(gone, Problem)
    assert gone.code == "not_found"
    print(job_id)
