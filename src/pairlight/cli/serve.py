"""`pairlight serve`: serve models and an index over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli.options import MAX_COUNT, MAX_JOBS


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Folders of saved models, or names of ready-made ones; the first is the default."),
    ] = None,
    index: Annotated[
        Path | None, typer.Option("--index", help="Folder of an index, made by `pairlight index`, to search.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 chooses a free one.")] = 8080,
    workers: Annotated[int, typer.Option("--workers", min=1, max=MAX_JOBS, help="Number of processes.")] = 1,
    api_key_file: Annotated[
        Path | None, typer.Option("--api-key-file", help="File with the accepted keys, one in each line.")
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", help="Origin of web pages that may call the server; may be repeated."),
    ] = None,
    max_waiting: Annotated[
        int,
        typer.Option(
            "--max-waiting", min=1, max=MAX_COUNT, help="Requests in work or waiting, per process; more get 429."
        ),
    ] = 64,
    max_texts: Annotated[int, typer.Option("--max-texts", min=1, max=MAX_COUNT, help="Texts of a request.")] = 1000,
) -> None:
    """Serve models and an index over HTTP.

    SIGTERM finishes the requests that have begun, and SIGHUP reloads the models.
    """
    from pairlight.serve.installed import check_installed

    check_installed()
    from pairlight.serve.served_model import check_models
    from pairlight.serve.server import serve as run
    from pairlight.serve.settings import ServerSettings, read_keys

    check_models(models or ())
    keys = () if api_key_file is None else read_keys(api_key_file)
    settings = ServerSettings(
        tuple(models or ()),
        index,
        host,
        port,
        workers,
        keys,
        tuple(cors or ()),
        max_waiting=max_waiting,
        max_texts=max_texts,
    )
    raise typer.Exit(run(settings))
