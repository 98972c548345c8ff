"""The reader of transcripts, which judges the README: it must see a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts import agrees, read_transcripts, run_transcript


@pytest.mark.parametrize(
    ("expected", "printed", "verdict"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a  \n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("", "a\n", False),
        ("", "", True),
        ("a … c\n", "a 12.5 ms c\n", True),
        ("a … c\n", "a 12.5 ms d\n", False),
        ("a\n…\nz\n", "a\n1\n2\nz\n", True),
        ("a\n…\nz\n", "a\nz\n", True),
        ("a\n…\nz\n", "a\n1\n2\n", False),
        ("a (b)\n", "a (b)\n", True),
    ],
)
def test_agreement(expected: str, printed: str, verdict: bool) -> None:
    """An ellipsis stands for text within a line or for whole lines; all else must be the same."""
    assert agrees(expected, printed) is verdict


def test_steps_share_a_shell(tmp_path: Path) -> None:
    """Commands of a block run in turn, over several lines, and see each other's exit code."""
    page = tmp_path / "page.md"
    page.write_text("text\n\n```console\n$ echo one \\\n    two\none two\n$ false\n$ echo $?\n1\n```\n")
    (transcript,) = read_transcripts(page)
    assert transcript.line == 3
    assert [step.output for step in transcript.steps] == ["one two\n", "", "1\n"]
    assert run_transcript(transcript, tmp_path) == ["one two\n", "", "1\n"]
