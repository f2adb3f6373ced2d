# docker build -t annotated-transformer .
# For a GPU add --build-arg TORCH_FROM=https://pypi.org/simple to it, and
# --gpus all to: docker run --rm -v "$PWD:/work" annotated-transformer train ...
FROM python:3.11.13-slim-bookworm
ARG TORCH_FROM=https://download.pytorch.org/whl/cpu
COPY requirements.txt pyproject.toml README.md LICENSE LICENSE-book /source/
RUN grep == /source/requirements.txt > /source/pins.txt \
 && pip install --no-cache-dir --index-url "$TORCH_FROM" $(grep ^torch= /source/pins.txt)
COPY annotated_transformer /source/annotated_transformer
RUN pip install --no-cache-dir --constraint /source/pins.txt "/source[plot]" \
 && useradd reader
ENV HOME=/tmp USER=reader
USER reader
WORKDIR /work
ENTRYPOINT ["annotated-transformer"]
