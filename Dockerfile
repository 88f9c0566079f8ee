# docker build -t directrank . && docker run --rm -v "$PWD:/data" directrank compare judged.csv --kfold 5
FROM python:3.13-slim
RUN apt-get update && apt-get install -y --no-install-recommends git libgomp1 && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip install --no-cache-dir '/src[arrow,lightgbm]'
ENV NUMBA_CACHE_DIR=/opt/kernels
RUN directrank doctor --warm
WORKDIR /data
ENTRYPOINT ["directrank"]
CMD ["--help"]
