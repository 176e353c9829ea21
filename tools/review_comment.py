"""Write the review of a pull request as its one comment: the comment of an earlier run is updated.

Run by `action.yml` with the variables of a GitHub runner: GITHUB_API_URL, GITHUB_REPOSITORY, and TOKEN, NUMBER (of the pull request)
and REPORT (the file with the comment). Only comments that the token's own user has written and that begin with MARK are touched.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

MARK = "<!-- cfglint -->"  # as `cfglint review --format markdown` begins
BOT = "github-actions[bot]"  # the user of a job's own token, which may not ask who it is
LONGEST = 65_536  # characters of a comment
PAGE = 100  # comments that one request returns
TIMEOUT = 60  # seconds for one request


def main() -> int:
    """Write the comment; the exit status is 1 where GitHub refuses it."""
    with open(os.environ["REPORT"], encoding="utf-8") as file:
        text = file.read()
    comments = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{os.environ['NUMBER']}/comments"
    try:
        known = earlier(comments)
        if known is None:
            request("POST", comments, {"body": shortened(text)})
        else:
            request("PATCH", f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/comments/{known}", {"body": shortened(text)})
    except urllib.error.HTTPError as error:
        print(f"::error::cfglint: the comment could not be written: {error} (it needs `pull-requests: write`)", file=sys.stderr)
        return 1
    return 0


def earlier(comments: str) -> int | None:
    """The id of the comment of an earlier run."""
    own = user()
    page = 1
    while True:
        found = request("GET", f"{comments}?per_page={PAGE}&page={page}")
        for each in found:
            if each["user"]["login"] == own and each["body"].startswith(MARK):
                return int(each["id"])
        if len(found) < PAGE:
            return None
        page += 1


def user() -> str:
    """The user that the token belongs to."""
    try:
        return str(request("GET", "/user")["login"])
    except urllib.error.HTTPError:
        return BOT


def shortened(text: str) -> str:
    """A text that fits into a comment."""
    note = "\n\n(shortened: the whole report is in the log of the job)\n"
    return text if len(text) <= LONGEST else text[: LONGEST - len(note)] + note


def request(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    """The answer of GitHub's API; raises HTTPError."""
    address = os.environ.get("GITHUB_API_URL", "https://api.github.com") + path
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {os.environ['TOKEN']}",
        "Content-Type": "application/json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    asked = urllib.request.Request(address, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
