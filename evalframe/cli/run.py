"""One call of the program: parse, run the verb, turn what happened into output and an exit code."""

from __future__ import annotations

import json
import os
import sys
import traceback

from cyclopts import App, CycloptsError

from evalframe.cli.app import tree
from evalframe.cli.progress import Progress
from evalframe.cli.terminal import Terminal
from evalframe.errors import EvalframeError, ExitCode, InputError, UsageError, harmless_json, printable


def run(arguments: list[str]) -> int:
    """The exit code of `evalframe ARGUMENTS`. `--debug` anywhere before `--` shows the traceback of an error."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in own
    if debug:
        arguments = [a for i, a in enumerate(arguments) if not (a == "--debug" and i < len(own))]
    app = tree(arguments)
    try:
        _refuse_what_is_no_text(arguments)
        with Progress():
            result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except EvalframeError as error:
        from evalframe.cli.hints import pasted  # loaded by what failed

        command = _command(app, arguments)
        forced = _takes(app, command, "--force")
        error.hint = pasted(error.hint, command, arguments, overwrites=forced, refused=error.found)
        return _failed(error, as_json="--json" in own, debug=debug)
    except CycloptsError as error:
        return _failed(_usage(error, app, arguments), as_json="--json" in own, debug=debug)
    except (BrokenPipeError, SystemExit) as left:
        if not isinstance(left, BrokenPipeError) and not isinstance(left.__context__, BrokenPipeError):
            raise  # the printer of help leaves in its own way where its reader has left
        _let_go_of_stdout()  # the reader went away (`| head`): not an error of ours
        return ExitCode.OK
    except OSError as error:
        return _failed(_unreadable(error), as_json="--json" in own, debug=debug)
    except KeyboardInterrupt:
        print("interrupted; nothing half-written", file=sys.stderr)
        return ExitCode.INTERRUPTED
    return int(result) if isinstance(result, int) else ExitCode.OK


def _refuse_what_is_no_text(arguments: list[str]) -> None:
    """A NUL, or bytes that are not UTF-8 (Python keeps them as lone surrogates): no name or path of ours has them."""
    for word in arguments:
        if "\0" in word or any("\ud800" <= c <= "\udfff" for c in word):
            raise UsageError(
                "an argument is no text",
                expected="UTF-8 without NUL characters",
                found=printable(repr(word), 300),
                where="the command line",
                hint="evalframe --help",
            )


def _failed(error: EvalframeError, *, as_json: bool, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    if as_json:
        try:
            print(harmless_json(json.dumps({"error": error.to_json()}, sort_keys=True, ensure_ascii=False)), flush=True)
            return error.exit_code
        except OSError:
            _let_go_of_stdout()
    from evalframe.cli import screen  # loaded by what shows people something

    terminal = Terminal.of(sys.stderr)
    print(terminal.spelled(screen.error(error, terminal)), file=sys.stderr)
    return error.exit_code


def _let_go_of_stdout() -> None:
    """What cannot be written must not complain again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unreadable(error: OSError) -> InputError:
    """What the system refused and no verb foresaw: a folder without permission, a disk that fails."""
    return InputError(
        "a file or folder cannot be used",
        expected="files that can be read and folders that can be written",
        found=error.strerror or str(error),
        where=str(error.filename or ""),
        hint="the same command with --debug shows where it happened",
    )


def _usage(error: CycloptsError, app: App, arguments: list[str]) -> UsageError:
    said = " ".join(str(error).split())
    command = " ".join(["evalframe", *_command(app, arguments)])
    return UsageError(
        "the command line cannot be read",
        expected="the options that --help lists",
        found=printable(said, 300),
        where=command,
        hint=f"{command} --help",
    )


def _command(node: App, arguments: list[str]) -> list[str]:
    """The leading words that name a command, so that the hint leads to its own help."""
    names: list[str] = []
    for word in arguments:
        if word.startswith("-") or word not in node:
            break
        names.append(word)
        node = node[word]
    return names


def _takes(node: App, command: list[str], option: str) -> bool:
    """Whether the command has an option."""
    for word in command:
        node = node[word]
    return any(option in argument.names for argument in node.assemble_argument_collection())
